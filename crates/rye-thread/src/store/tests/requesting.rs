//! Requests of other processes, as the owner of a tree finds them.

use std::sync::Mutex;

use super::*;
use crate::store::request::prefix;

/// A driver of one thread.
struct Driver {
    thread: ThreadId,
    received: Mutex<Sender<ReceivedRequest>>,
}

impl Inbox for Driver {
    fn knows(&self, thread: &ThreadId) -> bool {
        *thread == self.thread
    }

    fn receive(&self, request: ReceivedRequest) {
        self.received.lock().unwrap().send(request).unwrap();
    }
}

fn driver(number: u8) -> (Arc<dyn Inbox>, Receiver<ReceivedRequest>) {
    let (sender, received) = channel();
    (Arc::new(Driver { thread: name(number), received: Mutex::new(sender) }), received)
}

struct Asked {
    place: tempfile::TempDir,
    store: LocalStore,
    tree: TreeOwnership,
}

impl Asked {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        let store = LocalStore::open(place.path()).unwrap();
        let tree = store.own(&name(1)).unwrap();
        Self { place, store, tree }
    }

    fn post(&self, owner: &Owner, request: &ThreadRequest, key: &SigningKey) -> PostedRequest {
        let now = Moment::from_unix_millis(0);
        self.store.request(&name(1), owner, request, Some(key), now).unwrap()
    }

    fn folder(&self) -> PathBuf {
        self.place.path().join("requests")
    }
}

/// Longer than the pause between two passes of the owner.
const SOON: Duration = Duration::from_secs(10);

#[test]
fn rule_14_a_request_reaches_the_driver_of_its_thread() {
    let asked = Asked::new();
    let key = SigningKey::generate().unwrap();
    let other = SigningKey::generate().unwrap();
    let ((first, of_first), (second, of_second)) = (driver(1), driver(2));
    asked.tree.receive(&first);
    asked.tree.receive(&second);
    let denied = Decision::Denied(Some("not on a Friday".parse().unwrap()));
    let decide = ThreadRequest::decide(name(2), 7, "ab".to_owned(), denied);
    let cancel = ThreadRequest::cancel(name(1));
    let posted = [
        asked.post(asked.tree.owner(), &decide, &key),
        asked.post(asked.tree.owner(), &cancel, &key),
    ];
    for (request, received) in [(decide, of_second), (cancel, of_first)] {
        let received = received.recv_timeout(SOON).unwrap();
        assert_eq!(received.request, request);
        assert!(received.is_signed_by(&key.public()));
        assert!(!received.is_signed_by(&other.public()));
        received.remove();
    }
    assert!(posted.iter().all(|posted| !posted.is_there()));
}

/// A request to an owner that has ended is removed, and so is a file that is not a request.
#[test]
fn rule_14_what_is_no_request_to_this_owner_is_removed_unread() {
    let asked = Asked::new();
    let key = SigningKey::generate().unwrap();
    let (inbox, received) = driver(1);
    asked.tree.receive(&inbox);
    let cancel = ThreadRequest::cancel(name(1));
    let mut gone = asked.tree.owner().clone();
    gone.instance = "0".repeat(32);
    let own = prefix(&name(1), &asked.tree.owner().instance);
    let foreign = asked.post(&gone, &cancel, &key);
    let outside = asked.place.path().join("outside.json");
    let text = fs::read_dir(asked.folder()).unwrap().next().unwrap().unwrap().path();
    let text = fs::read_to_string(text).unwrap();
    let right = text.replace(&gone.instance, &asked.tree.owner().instance);
    fs::write(&outside, &right).unwrap();
    std::os::unix::fs::symlink(&outside, asked.folder().join(format!("{own}link.json"))).unwrap();
    // Its name says that it is for another owner, so that its text is not looked at.
    let named = asked.folder().join(format!("{}named.json", prefix(&name(1), &gone.instance)));
    fs::write(&named, &right).unwrap();
    let long = format!("{right}{}", " ".repeat(20_000));
    fs::write(asked.folder().join(format!("{own}long.json")), long).unwrap();
    fs::write(asked.folder().join(format!("{own}other.json")), text).unwrap();
    fs::write(asked.folder().join(format!("{own}none.json")), "{}").unwrap();
    fs::write(asked.folder().join("for-nobody.json"), "{}").unwrap();
    // After those, the owner finds a request that it takes.
    let request = ThreadRequest::cancel(name(9));
    let posted = asked.post(asked.tree.owner(), &request, &key);
    let mut delivered = Vec::new();
    while fs::read_dir(asked.folder()).unwrap().count() != 2 && delivered.len() < 2 {
        delivered.extend(received.try_recv());
        std::thread::yield_now();
    }
    if delivered.is_empty() {
        delivered.push(received.recv_timeout(SOON).unwrap());
    }
    let delivered: Vec<ThreadRequest> = delivered.into_iter().map(|it| it.request).collect();
    assert_eq!(delivered, [request], "what is no request was delivered");
    assert!(received.try_recv().is_err(), "what is no request was delivered");
    assert!(!foreign.is_there() && posted.is_there() && outside.exists());
    drop(posted);
    assert_eq!(fs::read_dir(asked.folder()).unwrap().count(), 1, "that of another tree stays");
}

/// A project or a tool may place a link. No request is written through it, and no file is removed through it.
#[test]
fn rule_14_no_link_leads_a_request_elsewhere() {
    let asked = Asked::new();
    let key = SigningKey::generate().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let own = prefix(&name(1), &asked.tree.owner().instance);
    let kept = outside.path().join(format!("{own}kept.json"));
    fs::write(&kept, "{}").unwrap();
    std::os::unix::fs::symlink(outside.path(), asked.folder()).unwrap();
    let cancel = ThreadRequest::cancel(name(1));
    let now = Moment::from_unix_millis(0);
    let refused = asked.store.request(&name(1), asked.tree.owner(), &cancel, Some(&key), now);
    assert!(matches!(refused, Err(StoreError::Linked { .. })), "{refused:?}");
    fs::remove_file(asked.folder()).unwrap();
    // When the owner takes this request, it has made a pass.
    let (inbox, received) = driver(1);
    asked.tree.receive(&inbox);
    let posted = asked.post(asked.tree.owner(), &cancel, &key);
    assert_eq!(received.recv_timeout(SOON).unwrap().request, cancel);
    drop(posted);
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(kept).unwrap(), "{}");
}

/// A link could take a name that another process can guess, and the request would be written through it.
#[test]
fn rule_14_the_name_of_a_request_is_not_to_be_guessed() {
    let asked = Asked::new();
    let key = SigningKey::generate().unwrap();
    let mut gone = asked.tree.owner().clone();
    gone.instance = "0".repeat(32);
    let _posted = asked.post(&gone, &ThreadRequest::cancel(name(9)), &key);
    let own = prefix(&name(1), &gone.instance);
    let names = fs::read_dir(asked.folder()).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let random: Vec<String> = names
        .filter_map(|name| Some(name.strip_prefix(&own)?.strip_suffix(".json")?.to_owned()))
        .collect();
    assert!(random.iter().all(|random| random.len() == 32), "{random:?}");
}
