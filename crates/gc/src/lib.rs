//! The ownerReference garbage collector: a pure owner graph and a driver on metadata informers.
