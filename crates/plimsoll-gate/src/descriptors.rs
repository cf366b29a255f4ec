//! Descriptors of the files that the kernel knows: fewer than there are files.
//!
//! Rule 1: a file whose descriptor was closed is reached by its names again; [`crate::inodes`] keeps
//! them. What is found there must be the file that was meant.
//! Rule 2: of descriptors that can be had again so, at most a given number is open. Those go first
//! that were not used since they were last looked at.
//! Rule 3: a file without a name that is known is held until the kernel forgets it.
//! Rule 4: a file that somebody has open is reached by what he has it open with.

use std::collections::VecDeque;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::inodes::Node;

/// What a file is held by.
#[derive(Debug, Default)]
struct Hold {
    /// A descriptor for everything but content.
    path: Option<Arc<OwnedFd>>,
    /// One that it was opened with, as long as it is open.
    lent: Option<Arc<OwnedFd>>,
    opens: u32,
    is_kept: bool,
    is_listed: bool,
    was_used: bool,
}

/// The hold on one file.
#[derive(Debug, Default)]
pub struct Grip {
    hold: Mutex<Hold>,
}

/// The nodes whose descriptors may be closed, in the order in which they are looked at.
#[derive(Debug)]
pub struct Ring {
    most: usize,
    nodes: Mutex<VecDeque<Weak<Node>>>,
}

impl Grip {
    /// A descriptor of the file, if one is open.
    #[must_use]
    pub fn fd(&self) -> Option<Arc<OwnedFd>> {
        let mut hold = self.lock();
        hold.was_used = true;
        hold.path.as_ref().or(hold.lent.as_ref()).cloned()
    }

    /// Hold the file by this one until it is forgotten.
    pub fn keep(&self, fd: Arc<OwnedFd>) {
        let mut hold = self.lock();
        hold.is_kept = true;
        hold.path.get_or_insert(fd);
    }

    /// It can be reached by a name and need not be kept.
    pub fn loosen(&self) {
        self.lock().is_kept = false;
    }

    /// Somebody has opened the file, with this descriptor.
    pub fn opened(&self, fd: &Arc<OwnedFd>) {
        let mut hold = self.lock();
        hold.opens += 1;
        hold.lent.get_or_insert_with(|| Arc::clone(fd));
    }

    /// Somebody has closed it; what the last one leaves is to be closed, which may take long.
    #[must_use]
    pub fn closed(&self) -> Option<Arc<OwnedFd>> {
        let mut hold = self.lock();
        hold.opens = hold.opens.saturating_sub(1);
        if hold.opens == 0 { hold.lent.take() } else { None }
    }

    /// Whether somebody has it open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.lock().opens > 0
    }

    /// Hold the file by this one for some time; whether the ring is to be told.
    fn take(&self, fd: &Arc<OwnedFd>) -> bool {
        let mut hold = self.lock();
        hold.path.get_or_insert_with(|| Arc::clone(fd));
        !std::mem::replace(&mut hold.is_listed, true)
    }

    /// Leave the ring, with the descriptor to be closed; or stay, as it was used.
    fn let_go(&self) -> Result<Option<Arc<OwnedFd>>, ()> {
        let mut hold = self.lock();
        if !hold.is_kept && std::mem::take(&mut hold.was_used) {
            return Err(());
        }
        hold.is_listed = false;
        Ok(if hold.is_kept { None } else { hold.path.take() })
    }

    fn lock(&self) -> MutexGuard<'_, Hold> {
        self.hold.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ring {
    /// A ring of at most so many.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { most, nodes: Mutex::default() }
    }

    /// Hold a file, whose name is known, by this descriptor, and let others go for it.
    pub fn hold(&self, node: &Arc<Node>, fd: &Arc<OwnedFd>) {
        if !node.grip.take(fd) {
            return;
        }
        let mut nodes = self.nodes.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.push_back(Arc::downgrade(node));
        // Twice around even the last one that was used goes.
        for _ in 0..2 * nodes.len() {
            if nodes.len() <= self.most {
                break;
            }
            let Some(first) = nodes.pop_front() else { break };
            let stays = first.upgrade().is_some_and(|node| node.grip.let_go().is_err());
            if stays {
                nodes.push_back(first);
            }
        }
    }
}
