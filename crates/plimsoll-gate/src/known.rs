//! The table of nodes: by number, with the names that lead to each.
//!
//! Rule 1: a folder stays while a file below it is known, because it is on the way there.
//! Rule 2: nothing here accesses the file system.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::node::{FOREIGN, Key, Node, ROOT};

/// One node, and what is known about it.
#[derive(Debug)]
struct Counted {
    node: Arc<Node>,
    lookups: u64,
    /// Folders and the names of this file in them.
    names: Vec<(u64, OsString)>,
    /// How many names of known files are in it.
    entries: usize,
}

/// The way to a file: from an open one, by names.
#[derive(Debug)]
pub struct Way {
    /// Where it starts; `None` for the root.
    pub from: Option<Arc<OwnedFd>>,
    /// Each node and its name in the one before.
    pub steps: Vec<(Arc<Node>, OsString)>,
}

/// All nodes except the root.
#[derive(Debug, Default)]
pub struct Known {
    by_id: HashMap<u64, Counted>,
    /// Numbers of files of other file systems, by device and inode.
    foreign: HashMap<Key, u64>,
    foreigners: u64,
}

impl Known {
    /// Return the node of a number.
    pub fn get(&self, id: u64) -> Option<&Arc<Node>> {
        self.by_id.get(&id).map(|counted| &counted.node)
    }

    /// Return the node of a file.
    pub fn of_key(&self, key: Key, root_key: Key) -> Option<&Arc<Node>> {
        let id = if is_native(key, root_key) { key.1 } else { *self.foreign.get(&key)? };
        self.get(id)
    }

    /// Return the number of nodes.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Count a lookup of a file.
    pub fn count(&mut self, key: Key, root_key: Key, make: impl FnOnce(u64) -> Node) -> Arc<Node> {
        let id = self.id_of(key, root_key);
        let counted = self.by_id.entry(id).or_insert_with(|| {
            let node = Arc::new(make(id));
            Counted { node, lookups: 0, names: Vec::new(), entries: 0 }
        });
        counted.lookups += 1;
        Arc::clone(&counted.node)
    }

    /// Subtract lookups; return nodes that are not needed any more, the requested one first.
    pub fn forget(&mut self, id: u64, lookups: u64) -> Vec<Arc<Node>> {
        if let Some(counted) = self.by_id.get_mut(&id) {
            counted.lookups = counted.lookups.saturating_sub(lookups);
        }
        self.release(id)
    }

    /// Note a name of this file in a folder; return whether it can be reached by it.
    pub fn add_name(&mut self, id: u64, folder: u64, name: &OsStr) -> bool {
        let is = |other: &(u64, OsString)| other.0 == folder && other.1 == name;
        match self.by_id.get(&id) {
            Some(counted) if counted.names.iter().any(is) => return true,
            Some(_) => {}
            None => return false,
        }
        if folder != ROOT {
            let Some(folder) = self.by_id.get_mut(&folder) else { return false };
            folder.entries += 1;
        }
        if let Some(counted) = self.by_id.get_mut(&id) {
            counted.names.push((folder, name.to_owned()));
        }
        true
    }

    /// Remove a name of this file; return whether others are known, and the nodes that are not needed any
    /// more.
    pub fn lose_name(&mut self, id: u64, folder: u64, name: &OsStr) -> (bool, Vec<Arc<Node>>) {
        let Some(counted) = self.by_id.get_mut(&id) else { return (false, Vec::new()) };
        let before = counted.names.len();
        counted.names.retain(|other| other.0 != folder || other.1 != name);
        let (is_named, is_lost) = (!counted.names.is_empty(), counted.names.len() < before);
        (is_named, if is_lost { self.leave(folder) } else { Vec::new() })
    }

    /// Return the way to a node by one of its names (the first is 0), from the nearest open node.
    pub fn way_to(&self, node: &Arc<Node>, which: usize) -> Option<Way> {
        let mut steps = Vec::new();
        let (mut id, mut which) = (node.id, which);
        // No way is longer than the number of nodes.
        while steps.len() <= self.by_id.len() {
            let counted = self.by_id.get(&id)?;
            if !steps.is_empty() {
                if let Some(from) = counted.node.grip.fd() {
                    steps.reverse();
                    return Some(Way { from: Some(from), steps });
                }
            } else if !Arc::ptr_eq(&counted.node, node) {
                return None;
            }
            let (folder, name) = counted.names.get(which)?;
            steps.push((Arc::clone(&counted.node), name.clone()));
            if *folder == ROOT {
                steps.reverse();
                return Some(Way { from: None, steps });
            }
            (id, which) = (*folder, 0);
        }
        None
    }

    fn leave(&mut self, folder: u64) -> Vec<Arc<Node>> {
        if let Some(counted) = self.by_id.get_mut(&folder) {
            counted.entries -= 1;
        }
        self.release(folder)
    }

    /// Remove a node that is not needed, and folders that were only on the way to it.
    fn release(&mut self, id: u64) -> Vec<Arc<Node>> {
        let (mut gone, mut waiting) = (Vec::new(), vec![id]);
        while let Some(id) = waiting.pop() {
            let is_needed = |counted: &Counted| counted.lookups > 0 || counted.entries > 0;
            if self.by_id.get(&id).is_none_or(is_needed) {
                continue;
            }
            let Some(counted) = self.by_id.remove(&id) else { continue };
            self.foreign.remove(&counted.node.key);
            for (folder, _) in counted.names {
                if let Some(above) = self.by_id.get_mut(&folder) {
                    above.entries -= 1;
                    waiting.push(folder);
                }
            }
            gone.push(counted.node);
        }
        gone
    }

    fn id_of(&mut self, key: Key, root_key: Key) -> u64 {
        if is_native(key, root_key) {
            return key.1;
        }
        let next = FOREIGN | (self.foreigners + 1);
        let id = *self.foreign.entry(key).or_insert(next);
        if id == next {
            self.foreigners += 1;
        }
        id
    }
}

fn is_native(key: Key, root_key: Key) -> bool {
    key.0 == root_key.0 && key.1 > ROOT && key.1 < FOREIGN
}
