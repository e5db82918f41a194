//! Scaling in the middle of a rollout, or while paused: every set in proportion (contract kcm D9).

/// What the plan needs to know of one ReplicaSet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// `spec.replicas`.
    pub(crate) size: i32,
    /// The annotation `max-replicas`: what the Deployment allowed when the set got its size.
    pub(crate) max_replicas: Option<i32>,
    /// Position by age, 0 for the oldest.
    pub(crate) age: usize,
}

/// The sizes of the active sets so that they add up to `allowed`.
///
/// Each set's share is its own part of the whole; what rounding leaves over goes to the
/// largest set. Sets are served largest first; of equal ones the newer when growing, the
/// older when shrinking.
pub(crate) fn scale(allowed: i32, sets: &[Share]) -> Vec<i32> {
    let total: i32 = sets.iter().map(|set| set.size).sum();
    let to_add = allowed - total;
    let mut order: Vec<usize> = (0..sets.len()).collect();
    order.sort_by(|&a, &b| {
        let by_size = sets[b].size.cmp(&sets[a].size);
        by_size.then_with(|| {
            if to_add > 0 {
                sets[b].age.cmp(&sets[a].age)
            } else {
                sets[a].age.cmp(&sets[b].age)
            }
        })
    });
    let mut sizes: Vec<i32> = sets.iter().map(|set| set.size).collect();
    let mut left = to_add;
    for &at in &order {
        let share = fraction(&sets[at], allowed, total);
        let share = if to_add > 0 {
            share.clamp(0, left)
        } else {
            share.clamp(left, 0)
        };
        sizes[at] += share;
        left -= share;
    }
    if let Some(&largest) = order.first() {
        sizes[largest] = (sizes[largest] + left).max(0);
    }
    sizes
}

/// How much one set grows or shrinks, before the bound of what is left.
fn fraction(set: &Share, allowed: i32, total: i32) -> i32 {
    // A set without the annotation was sized by somebody else: measure it by the whole.
    let whole = match set.max_replicas {
        Some(max) if max > 0 => max,
        _ => total.max(1),
    };
    let size = f64::from(set.size) * f64::from(allowed) / f64::from(whole);
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a rounded share of an i32 fits"
    )]
    let size = size.round() as i32;
    size - set.size
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(size: i32, max_replicas: i32, age: usize) -> Share {
        Share {
            size,
            max_replicas: Some(max_replicas),
            age,
        }
    }

    #[test]
    fn kcm_d9_seen_on_a_real_manager() {
        // Surge 3, old 8 and new 5: 10 -> 15 gives 11 + 7, then 15 -> 8 gives 7 + 4.
        assert_eq!(scale(18, &[share(8, 13, 0), share(5, 13, 1)]), [11, 7]);
        assert_eq!(scale(11, &[share(11, 18, 0), share(7, 18, 1)]), [7, 4]);
    }

    #[test]
    fn kcm_d9_shares_add_up_and_never_go_below_zero() {
        for allowed in 0..40 {
            for sizes in [[1, 1, 1], [10, 1, 0], [3, 7, 9]] {
                let total = sizes.iter().sum();
                let sets: Vec<_> = sizes
                    .iter()
                    .enumerate()
                    .map(|(age, &size)| share(size, total, age))
                    .collect();
                let scaled = scale(allowed, &sets);
                assert_eq!(
                    scaled.iter().sum::<i32>(),
                    allowed,
                    "{sizes:?} -> {scaled:?}"
                );
                assert!(scaled.iter().all(|size| *size >= 0));
            }
        }
    }

    #[test]
    fn kcm_d9_leftovers_go_to_the_newer_when_growing_and_come_from_the_older() {
        assert_eq!(scale(5, &[share(2, 4, 0), share(2, 4, 1)]), [2, 3]);
        assert_eq!(scale(3, &[share(2, 4, 0), share(2, 4, 1)]), [1, 2]);
    }
}
