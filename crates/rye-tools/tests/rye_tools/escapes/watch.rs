//! Sees whether anything of what must not be touched is opened.

use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;

use rustix::fs::inotify::{CreateFlags, Reader, WatchFlags, add_watch, init};

use crate::project::Project;

/// Every opening, reading or changing below `outside` and of the private key since the last look.
pub(super) struct Watch {
    events: OwnedFd,
}

impl Watch {
    pub(super) fn new(project: &Project) -> Self {
        let events = init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        // Closing is left out: what this test opens itself is closed late if another test starts a program at that
        // moment, whose process holds a copy until it runs.
        let closed = WatchFlags::CLOSE_WRITE | WatchFlags::CLOSE_NOWRITE;
        let any = WatchFlags::ALL_EVENTS - closed;
        for path in ["outside", "outside/secret.txt"] {
            add_watch(&events, project.outer().join(path), any).unwrap();
        }
        // The folder of the keys is opened, to know them under other names; the keys are not read.
        let read = WatchFlags::ACCESS | WatchFlags::MODIFY | WatchFlags::ATTRIB;
        let key = "project/.ai/config/keys/signing/private_key.pem";
        add_watch(&events, project.outer().join(key), read).unwrap();
        Self { events }
    }

    pub(super) fn events(&self) -> Vec<String> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.events, &mut buffer);
        let mut events = Vec::new();
        while let Ok(event) = reader.next() {
            events.push(format!("{:?} {:?}", event.events(), event.file_name()));
        }
        events
    }
}
