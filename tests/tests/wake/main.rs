//! Held polls on every implementation of the line, by its own clock: which message or lookup answers a poll,
//! and what that costs.

mod scene;
mod subscription;
mod wakeups;

/// Turns each case into one test for each implementation of the line.
macro_rules! on_every_line {
    ($($backend:ident as $name:ident),* : $topic:ident $cases:tt) => {
        $(on_one_line! { $backend as $name : $topic $cases })*
    };
}

macro_rules! on_one_line {
    ($backend:ident as $name:ident : $topic:ident { $($case:ident)* }) => {
        mod $name {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)] async fn $case() {
                crate::$topic::$case(vestibule_tests::lines::Backend::$backend).await;
            })*
        }
    };
}

on_every_line! {
    Embedded as embedded, Redis as redis, Valkey as valkey, Cluster as cluster: wakeups {
        a_tick_message_answers_the_polls_it_promotes
        without_messages_a_lookup_each_second_answers_polls
        a_turn_before_the_subscription_is_found
        a_turn_between_the_lookup_and_the_hold_is_found
        one_failed_lookup_does_not_end_a_hold
        many_polls_are_answered_with_few_lookups
    }
}

mod subscribed {
    on_every_line! {
        Redis as redis, Valkey as valkey, Cluster as cluster: subscription {
            a_process_subscribes_once_while_it_holds_polls
            a_broken_subscription_is_renewed
        }
    }
}
