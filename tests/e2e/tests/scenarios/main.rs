//! The end-to-end scenarios. `cargo test --package evenkeel-e2e` runs them on
//! both servers; `-- embedded::` or `-- real::` on one.

mod adoption;
mod autoscaler;
mod bad_input;
mod cache_operator;
mod cascade;
mod catch_up;
mod collect;
mod collect_custom;
mod custom_loop;
mod exec_plugin;
mod family;
mod graph;
mod guestbook;
mod interop;
mod kube_rs;
mod leadership;
mod namespaces;
mod rollout;
mod side_by_side;
mod tenant_operator;
mod webhooks;

use std::process::ExitCode;

use evenkeel_e2e::scenario;

fn main() -> ExitCode {
    evenkeel_e2e::trial::main(&[
        scenario!(BOTH, guestbook::kubectl_takes_it_through_its_life, kubectl),
        scenario!(BOTH, rollout::kcm_d7_d8_a_rolling_update_keeps_its_bounds),
        scenario!(BOTH, rollout::kcm_d10_recreate_ends_the_old_before_the_new),
        scenario!(
            BOTH,
            cascade::gc_t19_background_goes_from_the_top_down,
            kubectl
        ),
        scenario!(BOTH, cascade::foreground_goes_from_the_bottom_up, kubectl),
        scenario!(BOTH, cascade::gc_t20_orphan_leaves_the_rest_alone, kubectl),
        scenario!(
            BOTH,
            collect::gc_t1_t2_background_takes_what_has_no_other_owner
        ),
        scenario!(BOTH, collect::gc_t3_many_owners_each_by_its_own_policy),
        scenario!(BOTH, collect::gc_t4_t5_t6_t7_t8_orphan_and_foreground),
        scenario!(BOTH, collect::gc_t12_t14_t30_t31_false_references),
        scenario!(
            BOTH,
            collect::gc_t15_t16_t17_t18_t21_t22_controllers_and_pods
        ),
        scenario!(BOTH, collect::gc_t23_t26_circles_and_chains),
        scenario!(
            BOTH,
            collect_custom::gc_t9_t10_t25_kinds_defined_while_it_runs
        ),
        scenario!(
            BOTH,
            collect_custom::gc_t11_t24_definitions_that_go_take_their_dependents_along
        ),
        scenario!(
            BOTH,
            collect_custom::gc_t13_incident_5_a_dead_conversion_webhook_holds_up_nothing_else
        ),
        scenario!(BOTH, graph::gc_g49_g50_the_graph_of_the_running_collector),
        scenario!(BOTH, graph::the_graph_of_a_live_cluster),
        scenario!(
            BOTH,
            adoption::kcm_c1_an_orphaned_replica_set_is_adopted_again,
            kubectl
        ),
        scenario!(
            BOTH,
            adoption::kcm_c1_a_relabelled_pod_is_released_and_replaced,
            kubectl
        ),
        scenario!(BOTH, leadership::a_killed_leader_is_replaced_in_mid_rollout),
        scenario!(BOTH, leadership::a_stopping_leader_hands_over_at_once),
        scenario!(
            REAL,
            leadership::a_frozen_leader_writes_nothing_when_it_wakes
        ),
        scenario!(
            REAL,
            interop::client_go_l3_l7_l13_both_makers_compete_for_one_lease,
            client_go
        ),
        scenario!(EMBEDDED, catch_up::a_compacted_history_loses_nothing),
        scenario!(REAL, catch_up::a_restarted_server_loses_nothing),
        scenario!(BOTH, namespaces::fifty_objects_of_ten_kinds_go),
        scenario!(
            REAL,
            webhooks::controller_runtime_t71_f10_who_is_denied_reads_why,
            kubectl
        ),
        scenario!(
            REAL,
            webhooks::controller_runtime_t70_the_server_stores_what_a_defaulter_made
        ),
        scenario!(
            REAL,
            webhooks::controller_runtime_t72_a_custom_resource_in_two_versions,
            kubectl
        ),
        scenario!(
            REAL,
            webhooks::controller_runtime_t18_metrics_for_whom_rbac_lets
        ),
        scenario!(
            BOTH,
            cache_operator::a_cache_lives_rolls_and_goes,
            example "cache-operator"
        ),
        scenario!(
            BOTH,
            tenant_operator::a_tenant_lives_loses_a_namespace_and_goes,
            example "tenant-operator"
        ),
        scenario!(
            BOTH,
            autoscaler::it_follows_the_numbers_and_nobody_who_wants_no_pods,
            example "autoscaler"
        ),
        scenario!(BOTH, custom_loop::the_example_keeps_what_it_owns, example "banners"),
        scenario!(BOTH, kube_rs::both_see_the_same_set, kube_rs),
        scenario!(BOTH, exec_plugin::tokens_expire_under_writes_and_watches),
        scenario!(REAL, side_by_side::what_others_deploy_is_stored_alike),
        scenario!(EMBEDDED, bad_input::a_manifest_is_refused_by_name_and_line),
        scenario!(EMBEDDED, bad_input::a_port_in_use_is_named),
        scenario!(BOTH, bad_input::a_manager_says_why_it_cannot_connect),
        scenario!(EMBEDDED, bad_input::an_expired_token_is_reported),
    ])
}
