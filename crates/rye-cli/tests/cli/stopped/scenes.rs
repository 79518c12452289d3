//! Threads that run to where they stop by themselves, each looked at all the while.

use std::fs;
use std::sync::Arc;

use rye::providers::ApiKey;
use rye::resolve::Spaces;
use rye::sign::SigningKey;
use rye::thread::{Cancel, Clock as _, Decision, ThreadId};
use rye::types::ThreadState;
use rye::{Host, ProviderChoice, RunRequest, Rye, Secrets, Setup, shipped_files};
use serde_json::json;

use super::camera::{Camera, Shot};
use crate::children::family::{CHILD, Family, PARENT};
use crate::children::model::{Asked, Model, Says};

/// A thread that ran, and everything that a program could have left of it.
pub(super) struct Scene {
    pub(super) family: Family,
    /// Answers for as long as it is there.
    _model: Model,
    pub(super) thread: ThreadId,
    pub(super) script: Script,
    pub(super) shots: Vec<Shot>,
}

/// What happens in a thread, wherever it is stopped.
#[derive(Clone, Copy)]
pub(super) struct Script {
    /// How it ends, or the thread in which its conversation goes on.
    pub(super) ends: ThreadState,
    /// The files that are written by then.
    pub(super) writes: &'static [&'static str],
    /// Whether somebody has to approve that.
    pub(super) asks: bool,
}

impl Script {
    const fn completes(writes: &'static [&'static str]) -> Self {
        Self { ends: ThreadState::Completed, writes, asks: false }
    }
}

/// Two files by calls, and two by hooks.
pub(super) fn works() -> Scene {
    let model = Model::new(|asked: &Asked| match asked.results().len() {
        0 => write("a.txt"),
        1 => write("b.txt"),
        _ => Says::Text("Done."),
    });
    let family = Family::new(&model);
    let hook = |id: &str, event: &str| {
        format!(
            "<hook id=\"{id}\" event=\"{event}\"><execute item_type=\"tool\">rye/file-system/write</execute><inputs>\
             <path>{id}.txt</path><content>x</content></inputs></hook>"
        )
    };
    let hooks = hook("begin", "thread_started") + &hook("end", "after_complete");
    family.directive_with("parent", CHILD, &format!("<hooks>{hooks}</hooks>"));
    Stage::new(family, model)
        .scene(Script::completes(&["begin.txt", "a.txt", "b.txt", "end.txt"]), |stage| stage.run())
}

/// Somebody approves a call, which is seen as well.
pub(super) fn waits() -> Scene {
    asking().scene(ASKING, |stage| {
        stage.run();
        stage.rye().decide(&stage.thread, &Decision::Approved, &stage.host()).unwrap();
        stage.resume();
    })
}

/// A thread that waits is ended.
pub(super) fn gives_up() -> Scene {
    asking().scene(ASKING, |stage| {
        stage.run();
        stage.rye().cancel(&stage.thread, &stage.host()).unwrap();
    })
}

const ASKING: Script = Script { asks: true, ..Script::completes(&["a.txt"]) };

fn asking() -> Stage {
    let model = Model::new(|asked: &Asked| match asked.results().len() {
        0 => write("a.txt"),
        _ => Says::Text("Done."),
    });
    let family = Family::new(&model);
    let ask = "ask:\n  - rye.execute.tool.rye.file-system.write\n";
    family.config(".ai/config/agent/approval.yaml", ask);
    family.directive("parent", CHILD);
    Stage::new(family, model)
}

/// A thread that waits for one child and not for another.
pub(super) fn starts_others() -> Scene {
    starting().scene(STARTING, |stage| stage.run())
}

/// The same before anything ran.
pub(super) fn to_start_others() -> Scene {
    Scene { shots: Vec::new(), ..starting().scene(STARTING, |_| ()) }
}

const STARTING: Script = Script::completes(&["a.txt", "b.txt", "c.txt"]);

fn starting() -> Stage {
    let start = |directive: &str, is_async: bool| {
        let arguments = json!({ "directive": directive, "async": is_async });
        Says::Calls("rye_agent_threads_thread_directive", arguments)
    };
    let model =
        Model::new(move |asked: &Asked| match (asked.follows("parent"), asked.results().len()) {
            (true, 0) => start("test/first", false),
            (true, 1) => start("test/second", true),
            (true, 2) => write("c.txt"),
            (false, 0) if asked.follows("first") => write("a.txt"),
            (false, 0) => write("b.txt"),
            _ => Says::Text("Done."),
        });
    let family = Family::new(&model);
    family.directive("parent", PARENT);
    family.directive("first", CHILD);
    family.directive("second", CHILD);
    Stage::new(family, model)
}

/// A conversation that is too long after its first turn.
pub(super) fn grows() -> Scene {
    let model = Model::new(|asked: &Asked| match asked.results().len() {
        0 if !asked.goes_on() => write("a.txt"),
        _ => Says::Text("Done."),
    });
    let family = Family::new(&model);
    let small =
        model.provider().replace("100000", "1000").replace("max_output: 1000", "max_output: 50");
    family.config(".ai/tools/rye/agent/providers/small.yaml", &small);
    family.directive("parent", CHILD);
    Stage::new(family, model).scene(Script::completes(&["a.txt"]), |stage| stage.run())
}

/// More turns than there may be.
pub(super) fn fails() -> Scene {
    let model = Model::new(|_: &Asked| write("a.txt"));
    let family = Family::new(&model);
    family.directive_with("parent", CHILD, "<limits turns=\"1\"/>");
    Stage::new(family, model)
        .scene(Script { ends: ThreadState::Error, ..Script::completes(&["a.txt"]) }, |stage| {
            stage.run()
        })
}

/// A thread that is given what its directive does not take.
pub(super) fn cannot_begin() -> Scene {
    let model = Model::new(|_: &Asked| Says::Text("Done."));
    let family = Family::new(&model);
    family.directive("parent", CHILD);
    let script = Script { ends: ThreadState::Error, ..Script::completes(&[]) };
    Stage::new(family, model).scene(script, |stage| {
        let mut request = stage.request();
        request.inputs.insert("unknown".to_owned(), json!(1));
        let failed = stage.runtime.block_on(stage.rye().run(request, stage.host()));
        assert!(failed.is_err());
    })
}

fn write(path: &str) -> Says {
    Says::Calls("rye_file_system_write", json!({ "path": path, "content": "x" }))
}

/// Everything around a thread that is looked at.
struct Stage {
    family: Family,
    model: Model,
    thread: ThreadId,
    camera: Camera,
    cancel: Cancel,
    runtime: tokio::runtime::Runtime,
}

impl Stage {
    fn new(family: Family, model: Model) -> Self {
        let thread = ThreadId::new("test/parent", "019a0000-0000-7000-8000-000000000001").unwrap();
        let camera = Camera::new(family.project().join(".ai/threads"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { family, model, thread, camera, cancel: Cancel::new(), runtime }
    }

    fn scene(self, script: Script, play: impl FnOnce(&Self)) -> Scene {
        play(&self);
        let key = self.key();
        let Self { family, model, thread, camera, .. } = self;
        Scene { family, _model: model, thread, script, shots: camera.into_shots(&key) }
    }

    fn rye(&self) -> Rye {
        let spaces = Spaces::new()
            .with_shipped(shipped_files())
            .with_project(self.family.project())
            .with_user(self.family.home());
        let mut setup = Setup::new(spaces, self.camera.now().timestamp());
        setup.names = Some(Arc::new(rye::web::SystemNames));
        Rye::open(&setup).unwrap()
    }

    fn key(&self) -> SigningKey {
        let key = self.family.home().join(".ai/config/keys/signing/private_key.pem");
        SigningKey::from_pkcs8_pem(&fs::read_to_string(key).unwrap()).unwrap()
    }

    fn host(&self) -> Host<'_> {
        Host {
            clock: &self.camera,
            secrets: &NoSecrets,
            observer: &self.camera,
            approver: &(),
            cancel: &self.cancel,
            random: Arc::new(|| 0),
            signing_key: Some(Arc::new(self.key())),
        }
    }

    fn request(&self) -> RunRequest {
        let mut request = RunRequest::new("test/parent".parse().unwrap(), self.thread.clone());
        request.provider = ProviderChoice::Named("small".to_owned());
        request
    }

    fn run(&self) {
        let request = self.request();
        self.runtime.block_on(self.rye().run(request, self.host())).unwrap();
    }

    fn resume(&self) {
        self.runtime.block_on(self.rye().resume(&self.thread, self.host())).unwrap();
    }
}

struct NoSecrets;

impl Secrets for NoSecrets {
    fn api_key(&self, _: &str) -> Option<ApiKey> {
        None
    }
}
