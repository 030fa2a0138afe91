//! Polls that are held, over every line that ships and by its own clock: who is told of a turn, by what, and what it costs.

mod scene;
mod subscription;
mod told;

/// Makes of each case one test for each line.
macro_rules! on_each {
    ($($backend:ident as $name:ident),* : $topic:ident $cases:tt) => {
        $(on_one! { $backend as $name : $topic $cases })*
    };
}

macro_rules! on_one {
    ($backend:ident as $name:ident : $topic:ident { $($case:ident)* }) => {
        mod $name {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)] async fn $case() {
                crate::$topic::$case(vestibule_tests::lines::Backend::$backend).await;
            })*
        }
    };
}

on_each! {
    Memory as memory, Redis as redis, Valkey as valkey, Cluster as cluster: told {
        a_message_tells_of_a_turn
        without_a_message_a_look_a_second_does
        what_happened_before_anybody_listened_is_seen
        what_happened_between_the_look_and_the_hold_is_seen
        one_slow_look_ends_no_hold
        a_crowd_is_told_without_a_question_for_each
    }
}

mod subscribed {
    on_each! {
        Redis as redis, Valkey as valkey, Cluster as cluster: subscription {
            a_process_subscribes_once_for_all_and_only_while_it_holds
            a_subscription_that_breaks_begins_anew
        }
    }
}
