//! What protects a restore, on both backups: the lease with the epoch, the fence, and the generation.

use tokio::join;
use uuid::Uuid;
use vestibule_backup::{Backup, Lease, LeaseOutcome, QueueMetadata, StoredQueue};
use vestibule_backup_file::FileBackup;
use vestibule_domain::id::{QueueId, RootKey, Salt};
use vestibule_tests::{lines::fresh_queue, servers};

on_both_backups! {
    one_of_two_takers_gets_the_lease_and_next_epoch
    expired_lease_can_be_taken_and_its_holder_is_refused
    only_the_holder_renews_and_releases_a_lease
    fence_of_an_epoch_only_rises
    first_opening_of_a_generation_stays
    first_root_key_of_a_generation_stays
    new_generation_ends_the_epoch_and_its_lease
    lease_calls_do_not_create_a_missing_queue
}

/// An arbitrary time.
const NOW_MS: u64 = 1_800_000_000_000;

fn lease(holder: u128, until_ms: u64) -> Lease {
    Lease {
        holder: Uuid::from_u128(holder),
        until_ms,
    }
}

async fn new_queue(backup: &dyn Backup) -> QueueId {
    let queue = fresh_queue();
    let stored = StoredQueue {
        settings: serde_json::Map::new().into(),
        settings_order: 0,
        metadata: QueueMetadata::new(Salt::new([3; 32])),
    };
    assert!(backup.create_queue(&queue, &stored).await.expect("created"));
    queue
}

async fn read_metadata(backup: &dyn Backup, queue: &QueueId) -> QueueMetadata {
    let stored = backup.read_queue(queue).await.expect("read").expect("is there");
    stored.metadata
}

async fn take_lease(backup: &dyn Backup, queue: &QueueId, epoch: u32, lease: Lease) -> LeaseOutcome {
    let leased = backup.take_lease(queue, epoch, lease, NOW_MS).await;
    leased.expect("an answer")
}

pub(super) async fn one_of_two_takers_gets_the_lease_and_next_epoch(backup: &dyn Backup) {
    let queue = new_queue(backup).await;
    let leases = [lease(1, NOW_MS + 9), lease(2, NOW_MS + 9)];
    let (one, two) = join!(
        take_lease(backup, &queue, 1, leases[0]),
        take_lease(backup, &queue, 1, leases[1])
    );
    let taken = [one, two].map(|leased| matches!(leased, LeaseOutcome::Taken(_)));
    assert_ne!(taken[0], taken[1], "{one:?} {two:?}");
    let (winner, loser) = if taken[0] { (0, two) } else { (1, one) };
    // The loser read the queue earlier, and the epoch has changed since.
    assert_eq!(loser, LeaseOutcome::EpochChanged);
    let now = read_metadata(backup, &queue).await;
    assert_eq!((now.epoch, now.lease), (2, Some(leases[winner])));
    assert_eq!([one, two][winner], LeaseOutcome::Taken(now));
    // A process that reads the queue now has to wait for the lease.
    let other = take_lease(backup, &queue, 2, lease(3, NOW_MS + 9)).await;
    assert_eq!(other, LeaseOutcome::Held(leases[winner]));
}

pub(super) async fn expired_lease_can_be_taken_and_its_holder_is_refused(backup: &dyn Backup) {
    let queue = new_queue(backup).await;
    let (slow, next) = (lease(1, NOW_MS), lease(2, NOW_MS + 9));
    assert!(matches!(
        take_lease(backup, &queue, 1, slow).await,
        LeaseOutcome::Taken(_)
    ));
    assert!(matches!(
        take_lease(backup, &queue, 2, next).await,
        LeaseOutcome::Taken(_)
    ));
    let late = backup.renew_lease(&queue, 2, lease(1, NOW_MS + 99)).await;
    assert!(!late.expect("an answer"));
    backup
        .release_lease(&queue, 2, slow.holder)
        .await
        .expect("an answer");
    let now = read_metadata(backup, &queue).await;
    assert_eq!((now.epoch, now.lease), (3, Some(next)));
}

pub(super) async fn only_the_holder_renews_and_releases_a_lease(backup: &dyn Backup) {
    let queue = new_queue(backup).await;
    let (ours, longer) = (lease(1, NOW_MS + 9), lease(1, NOW_MS + 99));
    assert!(matches!(
        take_lease(backup, &queue, 1, ours).await,
        LeaseOutcome::Taken(_)
    ));
    let others = backup.renew_lease(&queue, 2, lease(2, NOW_MS + 99)).await;
    assert!(!others.expect("an answer"));
    assert!(backup.renew_lease(&queue, 2, longer).await.expect("an answer"));
    assert_eq!(read_metadata(backup, &queue).await.lease, Some(longer));
    let release = async |epoch, holder| {
        let released = backup.release_lease(&queue, epoch, Uuid::from_u128(holder));
        released.await.expect("an answer");
        read_metadata(backup, &queue).await.lease
    };
    assert_eq!(release(2, 2).await, Some(longer));
    assert_eq!(
        release(1, 1).await,
        Some(longer),
        "a release in another epoch has no effect"
    );
    assert_eq!(release(2, 1).await, None);
    let gone = backup.renew_lease(&queue, 2, longer).await;
    assert!(!gone.expect("an answer"));
}

pub(super) async fn fence_of_an_epoch_only_rises(backup: &dyn Backup) {
    let queue = new_queue(backup).await;
    let raise = async |epoch, fence| {
        let raised = backup.raise_watermark(&queue, epoch, fence).await;
        raised.expect("an answer");
        read_metadata(backup, &queue).await.watermark
    };
    assert_eq!(raise(1, 3).await, 3);
    assert_eq!(raise(1, 2).await, 3);
    assert_eq!(raise(2, 9).await, 3, "an epoch that does not exist has no fence");
    assert_eq!(raise(1, 4).await, 4);
    // A restore begins with the fence of the last line.
    assert!(matches!(
        take_lease(backup, &queue, 1, lease(1, NOW_MS)).await,
        LeaseOutcome::Taken(QueueMetadata { watermark: 4, .. })
    ));
    assert_eq!(raise(1, 9).await, 4, "the lost line cannot raise the fence");
}

pub(super) async fn first_opening_of_a_generation_stays(backup: &dyn Backup) {
    let queue = new_queue(backup).await;
    let record = async |epoch, at_ms| {
        let recorded = backup.record_opening(&queue, epoch, at_ms).await;
        recorded.expect("an answer");
        read_metadata(backup, &queue).await.opened_at_ms
    };
    assert_eq!(record(2, 5).await, None, "an epoch that does not exist");
    assert_eq!(record(1, 7).await, Some(7));
    assert_eq!(record(1, 9).await, Some(7));
    let begun = backup.begin_generation(&queue, 1, Salt::new([4; 32])).await;
    assert_eq!(begun.expect("an answer").expect("begun").opened_at_ms, None);
    assert_eq!(read_metadata(backup, &queue).await.opened_at_ms, None);
}

pub(super) async fn first_root_key_of_a_generation_stays(backup: &dyn Backup) {
    let [first, second] = [1, 2].map(|byte| RootKey::new(vec![byte; 32]).expect("long enough").fingerprint());
    let queue = new_queue(backup).await;
    let salt = read_metadata(backup, &queue).await.salt;
    let record = async |epoch, root| {
        let recorded = backup.record_root_key(&queue, epoch, root).await;
        recorded.expect("an answer");
        read_metadata(backup, &queue).await.salt
    };
    assert_eq!(
        record(2, first).await.root(),
        None,
        "an epoch that does not exist"
    );
    assert_eq!(
        record(1, first).await,
        salt.with_root(Some(first)),
        "the salt itself stays"
    );
    assert_eq!(record(1, second).await.root(), Some(first));
    // A reset takes the key that it is given, also none.
    for (epoch, root) in [(1, Some(second)), (2, None)] {
        let salt = Salt::new([u8::try_from(epoch).expect("small"); 32]).with_root(root);
        let begun = backup.begin_generation(&queue, epoch, salt).await;
        assert_eq!(begun.expect("an answer").expect("begun").salt, salt);
        assert_eq!(read_metadata(backup, &queue).await.salt, salt);
    }
}

pub(super) async fn new_generation_ends_the_epoch_and_its_lease(backup: &dyn Backup) {
    let queue = new_queue(backup).await;
    let held = lease(1, NOW_MS + 9);
    assert!(matches!(
        take_lease(backup, &queue, 1, held).await,
        LeaseOutcome::Taken(_)
    ));
    let salt = Salt::new([4; 32]);
    let late = backup.begin_generation(&queue, 1, salt).await;
    assert_eq!(late.expect("an answer"), None);
    let begun = backup.begin_generation(&queue, 2, salt).await.expect("an answer");
    let expected = QueueMetadata {
        epoch: 3,
        generation: 2,
        min_epoch: 3,
        ..QueueMetadata::new(salt)
    };
    assert_eq!(begun, Some(expected));
    assert_eq!(read_metadata(backup, &queue).await, expected);
    // The process that was restoring the earlier generation has lost its lease.
    assert!(!backup.renew_lease(&queue, 2, held).await.expect("an answer"));
}

pub(super) async fn lease_calls_do_not_create_a_missing_queue(backup: &dyn Backup) {
    let queue = fresh_queue();
    let (ours, salt) = (lease(1, NOW_MS + 9), Salt::new([4; 32]));
    assert_eq!(
        take_lease(backup, &queue, 0, ours).await,
        LeaseOutcome::EpochChanged
    );
    assert!(!backup.renew_lease(&queue, 0, ours).await.expect("an answer"));
    let released = backup.release_lease(&queue, 0, ours.holder).await;
    released.expect("an answer");
    backup.raise_watermark(&queue, 0, 1).await.expect("an answer");
    let begun = backup.begin_generation(&queue, 0, salt).await;
    assert_eq!(begun.expect("an answer"), None);
    assert_eq!(backup.read_queue(&queue).await.expect("read"), None);
}
