//! The server of llama.cpp: building, starting and ending it.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use crate::{
    files::text,
    packages,
    process::{self, Served},
};
use anyhow::{Context as _, anyhow, bail};

/// A source package that contains all of llama.cpp, pinned like every tool of a check.
const PACKAGE: &str = "llama_cpp_python";
const VERSION: &str = "0.3.36";

/// The build options, which leave out everything but plain HTTP on a generic processor.
const OPTIONS: &str = "-DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF -DLLAMA_BUILD_COMMON=ON -DLLAMA_BUILD_TOOLS=ON \
                       -DLLAMA_BUILD_SERVER=ON -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF \
                       -DLLAMA_BUILD_UI=OFF -DLLAMA_USE_PREBUILT_UI=OFF -DLLAMA_OPENSSL=OFF -DGGML_NATIVE=OFF \
                       -DGGML_OPENMP=OFF -DGGML_LLAMAFILE=OFF";

/// Returns the path of the server's program. Builds it if it does not exist.
pub(super) fn build(root: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let program = folder.join(VERSION).join("bin/llama-server");
    if program.exists() {
        return Ok(program);
    }
    println!("llama.cpp's server is built once, which takes ten minutes or more");
    let run = |line: &str| process::run(root, &[], line);
    let python = packages::python(root, "llama/venv", "cmake ninja")?;
    let [python, cmake, ninja] =
        ["python", "cmake", "ninja"].map(|name| text(python.with_file_name(name)));
    let sources = text(folder.join("source"));
    let package = format!("{PACKAGE}=={VERSION}");
    run(&format!(
        "{python} -m pip download --quiet --no-deps --no-binary {PACKAGE} --dest {sources} {package}"
    ))?;
    run(&format!("tar -xzf {sources}/{PACKAGE}-{VERSION}.tar.gz -C {sources}"))?;
    let source = format!("{sources}/{PACKAGE}-{VERSION}/vendor/llama.cpp");
    // Built elsewhere and then copied, so that an incomplete build is not used.
    let built = text(folder.join("build"));
    run(&format!(
        "{cmake} -S {source} -B {built} -G Ninja -DCMAKE_MAKE_PROGRAM={ninja} {OPTIONS}"
    ))?;
    run(&format!("{cmake} --build {built} --target llama-server -j 2"))?;
    let place = program.parent().expect("because it was made of a folder");
    fs::create_dir_all(place)
        .and_then(|()| fs::copy(format!("{built}/bin/llama-server"), &program))
        .with_context(|| format!("`{}` cannot be made", program.display()))?;
    Ok(program)
}

/// A running server. Dropping this value ends it.
pub(super) struct Server {
    served: Served,
    address: SocketAddr,
}

impl Server {
    /// Starts a server for this model on a free port, and waits until it answers.
    pub(super) fn start(program: &Path, model: &Path) -> anyhow::Result<Self> {
        let address = free_address().context("no port is free")?;
        let folder = model.parent().unwrap_or(model);
        let log = fs::File::create(model.with_extension("log"))
            .context("the server's log cannot be written")?;
        let port = address.port().to_string();
        let path = text(model);
        let context = super::model::CONTEXT.to_string();
        let words = ["--host", "127.0.0.1", "--port", &port, "-m", &path, "-c", &context];
        let more = ["-np", "1", "-t", "2", "--jinja", "--metrics", "--no-webui"];
        let mut command = process::start(folder, program, words.into_iter().chain(more));
        command.env_clear().stdout(Stdio::null()).stderr(log);
        let mut server = Self { served: Served::start(command)?, address };
        let log = model.with_extension("log");
        server.wait().map_err(|error| anyhow!("{error:#}; see `{}`", log.display()))?;
        Ok(server)
    }

    /// The URL of the server.
    pub(super) fn address(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sends a GET request and returns the whole response.
    pub(super) fn get(&self, path: &str) -> anyhow::Result<String> {
        let told = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(self.address)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            Ok(answer)
        };
        told().context("the server does not answer")
    }

    fn wait(&mut self) -> anyhow::Result<()> {
        let began = Instant::now();
        while !self.get("/health").is_ok_and(|answer| answer.starts_with("HTTP/1.1 200")) {
            if let Some(status) = self.served.status() {
                bail!("the server ended with {status}");
            }
            if began.elapsed() > PATIENCE {
                bail!("the server did not come up");
            }
            #[expect(clippy::disallowed_methods, reason = "this program runs no tasks")]
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

const PATIENCE: Duration = Duration::from_secs(60);

fn free_address() -> std::io::Result<SocketAddr> {
    TcpListener::bind("127.0.0.1:0")?.local_addr()
}
