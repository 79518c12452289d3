//! A provider on this machine that answers the directives of `tests/project`, for `dev.sh`. It prints its port.

#[path = "../tests/threads/model.rs"]
mod model;

fn main() {
    println!("{}", model::serve());
    loop {
        std::thread::park();
    }
}
