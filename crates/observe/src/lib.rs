//! Metric descriptors and the sink trait that the evenkeel crates report through.
