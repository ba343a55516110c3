//! The dashboard as a thread that can be stopped. Touches one thread and, through tokio, its sockets.

use std::io;
use std::sync::Arc;

use node::thread::{JoinHandle, Placement, Role, spawn};
use tokio::sync::oneshot;

use super::feed::Feed;
use super::server::{Bound, serve};

/// The thread that answers browsers.
pub const ROLE: Role = Role::new("stw-web", "answers browsers that look at the dashboard");

/// A running dashboard; it ends when this goes.
#[derive(Debug)]
pub struct Dashboard {
    address: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Dashboard {
    /// Serves `feed` on a thread of its own.
    ///
    /// # Errors
    /// When the thread or its runtime cannot be had.
    pub fn start(bound: Bound, feed: Arc<Feed>) -> io::Result<Self> {
        let address = bound.address();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let thread = spawn(ROLE, Placement::Inherit, move || {
            runtime.block_on(async {
                tokio::select! {
                    result = serve(bound, feed) => result,
                    // Also when the sender went without a word.
                    _ = stopped => Ok(()),
                }
            })
        })?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// The address to open in a browser.
    pub fn address(&self) -> &str {
        &self.address
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            // The thread may have ended by itself.
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
