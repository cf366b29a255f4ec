//! Look up, create, link, move and remove names.

use std::ffi::{CString, OsStr};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use fuser::FileAttr;
use rustix::fs::{AtFlags, FileType, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;
use rustix::path::DecInt;

use super::Core;
use super::attributes::{attributes_of, unpacked_device};
use crate::inodes::{Found, Parting, Reached};

/// The account of a request.
#[derive(Clone, Copy, Debug)]
pub struct Asker {
    /// User.
    pub uid: u32,
    /// Group.
    pub gid: u32,
}

const SET_ID_BITS: u32 = 0o6000;

impl Core {
    /// Look up a name; the kernel counts the lookup.
    ///
    /// # Errors
    /// There is no such name.
    pub fn find(&self, folder: u64, name: &OsStr) -> Result<FileAttr, Errno> {
        let find = || self.inodes.look_up(&self.inodes.reach(folder)?, name);
        let found = self.with_room(find)?;
        Ok(attributes_of(&found.file.node, &found.stat))
    }

    /// Let the kernel forget lookups. The last close may be of a large file without a name, and then
    /// takes time.
    pub fn forget(self: &Arc<Self>, id: u64, lookups: u64) {
        if let Some(node) = self.inodes.forget(id, lookups) {
            self.pruner.with(|ledger| ledger.forget((node.id, node.epoch)));
            if node.kind == FileType::RegularFile {
                self.end_later(node);
            }
        }
    }

    /// Create a file, a pipe, a socket or a device.
    ///
    /// # Errors
    /// The backing file system refuses; the same applies to all functions below.
    pub fn make_node(
        self: &Arc<Self>,
        asker: Asker,
        folder: u64,
        name: &OsStr,
        mode: u32,
        device: u32,
    ) -> Result<FileAttr, Errno> {
        let (kind, bits) = (FileType::from_raw_mode(mode), Mode::from_raw_mode(mode & 0o7777));
        self.with_room(|| {
            let folder = self.inodes.reach(folder)?;
            rustix::fs::mknodat(&folder.fd, name, kind, bits, unpacked_device(device))?;
            self.welcome(asker, &folder, name, mode, AtFlags::empty())
        })
    }

    /// Create a folder.
    ///
    /// # Errors
    /// For the reasons of [`Core::make_node`].
    pub fn make_folder(
        self: &Arc<Self>,
        asker: Asker,
        folder: u64,
        name: &OsStr,
        mode: u32,
    ) -> Result<FileAttr, Errno> {
        self.with_room(|| {
            let folder = self.inodes.reach(folder)?;
            rustix::fs::mkdirat(&folder.fd, name, Mode::from_raw_mode(mode & 0o7777))?;
            // A folder keeps its set-group-id bit when its owner changes.
            self.welcome(asker, &folder, name, 0, AtFlags::REMOVEDIR)
        })
    }

    /// Create a symbolic link.
    ///
    /// # Errors
    /// For the reasons of [`Core::make_node`].
    pub fn make_symlink(
        self: &Arc<Self>,
        asker: Asker,
        folder: u64,
        name: &OsStr,
        target: &Path,
    ) -> Result<FileAttr, Errno> {
        self.with_room(|| {
            let folder = self.inodes.reach(folder)?;
            rustix::fs::symlinkat(target, &folder.fd, name)?;
            self.welcome(asker, &folder, name, 0, AtFlags::empty())
        })
    }

    /// Return the target of a symbolic link.
    ///
    /// # Errors
    /// For the reasons of [`Core::make_node`].
    pub fn target(&self, id: u64) -> Result<CString, Errno> {
        rustix::fs::readlinkat(&self.with_room(|| self.inodes.reach(id))?.fd, "", Vec::new())
    }

    /// Give a file another name.
    ///
    /// # Errors
    /// For the reasons of [`Core::make_node`].
    pub fn link(&self, id: u64, folder: u64, name: &OsStr) -> Result<FileAttr, Errno> {
        let reach = || Ok((self.inodes.reach(id)?, self.inodes.reach(folder)?));
        let (file, folder) = self.with_room(reach)?;
        let number = DecInt::from_fd(&file.fd);
        let (from, to) = (&self.descriptors, &folder.fd);
        rustix::fs::linkat(from, number.as_c_str(), to, name, AtFlags::SYMLINK_FOLLOW)?;
        let found = self.inodes.adopt(&folder.node, name, file.fd)?;
        Ok(attributes_of(&found.file.node, &found.stat))
    }

    /// Remove a name; with `AtFlags::REMOVEDIR` that of a folder.
    ///
    /// # Errors
    /// For the reasons of [`Core::make_node`].
    pub fn remove(&self, folder: u64, name: &OsStr, flags: AtFlags) -> Result<(), Errno> {
        // The file is opened before, because its name is gone afterwards.
        self.with_room(|| self.remove_once(folder, name, flags))
    }

    fn remove_once(&self, folder: u64, name: &OsStr, flags: AtFlags) -> Result<(), Errno> {
        let folder = self.inodes.reach(folder)?;
        let _changing = self.inodes.change_names();
        let parting = self.inodes.parting(&folder, name)?;
        rustix::fs::unlinkat(&folder.fd, name, flags)?;
        parting.iter().for_each(|file| self.inodes.parted(file, &folder.node, name));
        Ok(())
    }

    /// Move a name.
    ///
    /// # Errors
    /// For the reasons of [`Core::make_node`].
    pub fn rename(
        &self,
        from: (u64, &OsStr),
        to: (u64, &OsStr),
        flags: fuser::RenameFlags,
    ) -> Result<(), Errno> {
        let flags = RenameFlags::from_bits_retain(flags.bits());
        self.with_room(|| self.rename_once(from, to, flags))
    }

    fn rename_once(
        &self,
        from: (u64, &OsStr),
        to: (u64, &OsStr),
        flags: RenameFlags,
    ) -> Result<(), Errno> {
        let (old, new) = (self.inodes.reach(from.0)?, self.inodes.reach(to.0)?);
        let _changing = self.inodes.change_names();
        let moved = self.inodes.named(&old, from.1).map(|(node, _)| node);
        let parting = self.inodes.parting(&new, to.1)?;
        rustix::fs::renameat_with(&old.fd, from.1, &new.fd, to.1, flags)?;
        let (from, to) = ((&*old.node, from.1), (&*new.node, to.1));
        let other = parting.as_ref().map(Parting::node);
        // If both names are of one file, rename(2) does nothing and both stay.
        if moved.is_some() && moved.as_ref() == other {
            return Ok(());
        }
        if flags.contains(RenameFlags::EXCHANGE) {
            other.iter().for_each(|node| self.inodes.moved(node, to, from));
        } else {
            parting.iter().for_each(|file| self.inodes.parted(file, to.0, to.1));
        }
        moved.iter().for_each(|node| self.inodes.moved(node, from, to));
        Ok(())
    }

    /// Give a new file to the account that requested it, and look it up.
    fn welcome(
        self: &Arc<Self>,
        asker: Asker,
        folder: &Reached,
        name: &OsStr,
        mode: u32,
        removal: AtFlags,
    ) -> Result<FileAttr, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let made = rustix::fs::openat(&folder.fd, name, flags, Mode::empty())
            .and_then(|fd| self.hand_over(asker, folder, name, Arc::new(fd), mode));
        match made {
            Ok(found) => Ok(attributes_of(&found.file.node, &found.stat)),
            Err(error) => {
                // A file with the wrong owner must not stay.
                let _ = rustix::fs::unlinkat(&folder.fd, name, removal);
                Err(error)
            }
        }
    }

    /// Give a file that root created to the account that requested it, and count a lookup.
    pub(super) fn hand_over(
        self: &Arc<Self>,
        asker: Asker,
        folder: &Reached,
        name: &OsStr,
        fd: Arc<OwnedFd>,
        mode: u32,
    ) -> Result<Found, Errno> {
        let mut found = self.inodes.adopt(&folder.node, name, fd)?;
        if !self.is_root {
            return Ok(found);
        }
        let done = self.give_away(asker, folder, &found, mode);
        match done.and_then(|()| rustix::fs::fstat(&found.file.fd)) {
            Ok(stat) => {
                found.stat = stat;
                Ok(found)
            }
            Err(error) => {
                self.forget(found.file.node.id, 1);
                Err(error)
            }
        }
    }

    fn give_away(
        &self,
        asker: Asker,
        folder: &Reached,
        found: &Found,
        mode: u32,
    ) -> Result<(), Errno> {
        let inherits_group = rustix::fs::fstat(&folder.fd)?.st_mode & 0o2000 != 0;
        let gid = (!inherits_group).then_some(asker.gid);
        let (stat, file) = (&found.stat, &found.file);
        if stat.st_uid != asker.uid || gid.is_some_and(|gid| gid != stat.st_gid) {
            let (uid, gid) = (Some(Uid::from_raw(asker.uid)), gid.map(Gid::from_raw));
            rustix::fs::chownat(&file.fd, "", uid, gid, AtFlags::EMPTY_PATH)?;
            if mode & SET_ID_BITS != 0 {
                self.change_mode(&file.fd, mode)?;
            }
        }
        Ok(())
    }
}
