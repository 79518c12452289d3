use rye_thread::ThreadId;

use super::*;

fn thread() -> ThreadId {
    ThreadId::new("greet/hello", "019a0000-0000-7000-8000-000000000001").unwrap()
}

/// How often somebody looks where the first looks find that another program went on meanwhile, and what comes of it.
fn looked(meanwhile: u32, then: impl Fn() -> Result<(), ReopenError>) -> (u32, String) {
    let mut looks = 0;
    let found = steadily(|| {
        looks += 1;
        if meanwhile < looks { then() } else { Err(ReopenError::Meanwhile { thread: thread() }) }
    });
    (looks, found.map_or_else(|error| error.to_string(), |()| "opened".to_owned()))
}

#[test]
fn a_thread_is_read_again_while_others_go_on_with_it() {
    let fails = || Err(ReopenError::NoProject);
    let no_project = ReopenError::NoProject.to_string();
    let rows = [
        ("nobody", 0, (1, "opened".to_owned())),
        ("one", 1, (2, "opened".to_owned())),
        ("many", 9, (10, "opened".to_owned())),
    ];
    for (name, meanwhile, expected) in rows {
        assert_eq!(looked(meanwhile, || Ok(())), expected, "{name}");
    }
    assert_eq!(looked(1, fails), (2, no_project), "nothing else is looked at again");
}
