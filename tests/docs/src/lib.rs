//! The pages in docs/ that show code, as tests: each block is compiled, and run unless it says that
//! it is not to be.

#[cfg(doctest)]
#[doc = include_str!("../../../docs/tour.md")]
pub struct Tour;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/coming-from-kube-rs.md")]
pub struct ComingFromKubeRs;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/coming-from-controller-runtime.md")]
pub struct ComingFromControllerRuntime;
