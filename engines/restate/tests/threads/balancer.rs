//! A load balancer for connections: each goes to the next worker that takes it.

use std::sync::{Arc, Mutex};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

use crate::lab::{Lab, Worker};

/// The addresses of workers behind one address.
#[derive(Debug, Clone, Default)]
pub struct Balancer(Arc<Mutex<Vec<String>>>);

impl Balancer {
    /// Starts a worker behind a balancer, whose address is the one that the server sends work to.
    pub async fn of_worker(lab: &Lab, project: &str) -> (Self, Worker) {
        let (balancer, worker) = (Self::default(), lab.unregistered_worker(project));
        balancer.set(vec![worker.address.clone()]);
        lab.register(&balancer.listen().await).await;
        (balancer, worker)
    }

    /// Listens, and returns the address.
    pub async fn listen(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let workers = self.clone();
        tokio::spawn(async move {
            let mut turn = 0;
            while let Ok((mut stream, _)) = listener.accept().await {
                turn += 1;
                let workers = workers.clone();
                tokio::spawn(async move {
                    if let Some(mut worker) = workers.connect(turn).await {
                        drop(copy_bidirectional(&mut stream, &mut worker).await);
                    }
                });
            }
        });
        address
    }

    /// Replaces the workers.
    pub fn set(&self, workers: Vec<String>) {
        *self.0.lock().unwrap() = workers;
    }

    async fn connect(&self, turn: usize) -> Option<TcpStream> {
        let workers = self.0.lock().unwrap().clone();
        for place in 0..workers.len() {
            let worker = &workers[(turn + place) % workers.len()];
            if let Ok(stream) = TcpStream::connect(worker).await {
                return Some(stream);
            }
        }
        None
    }
}
