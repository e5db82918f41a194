use evenkeel_observe::Descriptor;

/// Under the name that Kubernetes' own collector uses (G10).
pub(crate) static SYNC_ERRORS: Descriptor = Descriptor::counter(
    "garbagecollector_controller_resources_sync_error_total",
    "Times that the resources to watch could not be found out or did not all sync.",
    &[],
);
