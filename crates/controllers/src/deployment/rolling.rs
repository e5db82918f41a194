//! How many pods each ReplicaSet gets in the next step of a rolling update (contracts kcm D7, D8).

use super::limits::Limits;

/// What the plan needs to know of one ReplicaSet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SetSize {
    /// `spec.replicas`.
    pub(crate) wanted: i32,
    /// `status.availableReplicas`.
    pub(crate) available: i32,
}

/// The size that the new ReplicaSet may have now, given all sets' sizes (D7).
///
/// It grows into the room that the surge leaves, and never shrinks here unless it is larger
/// than the Deployment itself.
pub(crate) fn new_size(limits: Limits, new: i32, total: i32) -> i32 {
    if limits.recreate || new > limits.replicas {
        return limits.replicas;
    }
    let room = limits.max_total() - total;
    new + room.min(limits.replicas - new).max(0)
}

/// The sizes that the old ReplicaSets, oldest first, may have now (D8).
///
/// Pods that are not available go first, wherever they are: removing them costs nothing. Then
/// available ones go, oldest set first, as long as enough stay available.
pub(crate) fn old_sizes(limits: Limits, new: SetSize, old: &[SetSize]) -> Vec<i32> {
    let mut sizes: Vec<i32> = old.iter().map(|set| set.wanted).collect();
    let total = new.wanted + sizes.iter().sum::<i32>();
    // Pods of the new set that are not there yet count as missing.
    let new_missing = new.wanted - new.available;
    let mut may_go = total - limits.min_available() - new_missing;
    if may_go <= 0 {
        return sizes;
    }
    for (size, set) in sizes.iter_mut().zip(old) {
        let unhealthy = (set.wanted - set.available).clamp(0, may_go.max(0));
        *size -= unhealthy;
        may_go -= unhealthy;
    }
    let available = new.available + old.iter().map(|set| set.available).sum::<i32>();
    let mut spare = available - limits.min_available();
    for size in &mut sizes {
        if spare <= 0 {
            break;
        }
        let goes = (*size).min(spare);
        *size -= goes;
        spare -= goes;
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: Limits = Limits {
        replicas: 10,
        max_surge: 3,
        max_unavailable: 2,
        recreate: false,
    };

    fn set(wanted: i32, available: i32) -> SetSize {
        SetSize { wanted, available }
    }

    #[test]
    fn kcm_d7_the_new_set_starts_with_the_surge_and_grows_into_the_room() {
        assert_eq!(new_size(TEN, 0, 10), 3);
        assert_eq!(new_size(TEN, 3, 11), 5);
        assert_eq!(new_size(TEN, 3, 13), 3, "no room: hold");
        assert_eq!(new_size(TEN, 8, 9), 10, "never over the wanted number");
        assert_eq!(new_size(TEN, 12, 12), 10, "too large: shrink");
        assert_eq!(
            new_size(
                Limits {
                    recreate: true,
                    ..TEN
                },
                0,
                0
            ),
            10
        );
    }

    #[test]
    fn kcm_d8_ten_go_to_eight_at_once_then_by_availability() {
        assert_eq!(old_sizes(TEN, set(3, 0), &[set(10, 10)]), [8]);
        assert_eq!(
            old_sizes(TEN, set(5, 0), &[set(8, 8)]),
            [8],
            "nothing may go"
        );
        assert_eq!(old_sizes(TEN, set(5, 3), &[set(8, 8)]), [5]);
        assert_eq!(old_sizes(TEN, set(10, 10), &[set(2, 2)]), [0]);
    }

    #[test]
    fn kcm_d8_pods_that_are_not_available_go_first_and_oldest_sets_before_newer() {
        assert_eq!(
            old_sizes(TEN, set(0, 0), &[set(5, 5), set(5, 2)]),
            [5, 3],
            "only two may go"
        );
        assert_eq!(old_sizes(TEN, set(3, 3), &[set(5, 5), set(5, 0)]), [5, 0]);
        assert_eq!(old_sizes(TEN, set(3, 3), &[set(5, 5), set(5, 5)]), [0, 5]);
    }

    /// Whatever the sizes: a step never allows too few available pods, nor too many pods.
    #[test]
    fn no_step_leaves_the_limits() {
        for surge in 0..4 {
            for unavailable in 0..4 {
                if surge + unavailable == 0 {
                    continue;
                }
                let limits = Limits {
                    max_surge: surge,
                    max_unavailable: unavailable,
                    ..TEN
                };
                for new_wanted in 0..=10 {
                    for new_available in 0..=new_wanted {
                        for (a, b) in [(0, 0), (3, 0), (3, 3), (10, 10), (10, 4), (7, 1)] {
                            check_step(
                                limits,
                                set(new_wanted, new_available),
                                &[set(a, b), set(2, 1)],
                            );
                        }
                    }
                }
            }
        }
    }

    fn check_step(limits: Limits, new: SetSize, old: &[SetSize]) {
        let total = new.wanted + old.iter().map(|set| set.wanted).sum::<i32>();
        let grown = new_size(limits, new.wanted, total);
        if grown > new.wanted {
            assert!(total - new.wanted + grown <= limits.max_total());
        }
        let sizes = old_sizes(limits, new, old);
        let before = new.available + old.iter().map(|set| set.available).sum::<i32>();
        // Worst case: the ReplicaSet controller removes unavailable pods first (kcm RS2).
        let after = new.available
            + sizes
                .iter()
                .zip(old)
                .map(|(size, set)| (*size).min(set.available))
                .sum::<i32>();
        assert!(
            after >= limits.min_available().min(before),
            "{limits:?} {new:?} {old:?} -> {sizes:?}"
        );
        assert!(
            sizes
                .iter()
                .zip(old)
                .all(|(size, set)| (0..=set.wanted).contains(size))
        );
    }
}
