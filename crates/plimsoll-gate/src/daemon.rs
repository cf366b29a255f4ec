//! Run a gate from its configuration to its end.
//!
//! Rule 1: everything that can fail is tried before the mount. Afterwards the gate runs until it is asked
//! to end, or unmounted.
//! Rule 2: at the end all limits are lifted, so that the kernel's dirty data is written at the speed of
//! the real disk.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use fuser::{BackgroundSession, MountOption, Session, SessionACL};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, Rlimit};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::buffers::Buffers;
use crate::claim::claim;
use crate::clock::{Clock, measure_timer_error_s};
use crate::config::{Chain, Config};
use crate::control::{Control, Stop};
use crate::counters::Counters;
use crate::descriptors::Share;
use crate::fs::{Core, Gate, Room};
use crate::handles::Handles;
use crate::inodes::Inodes;
use crate::mount::{self, Ending, Places, SUBTYPE, said};
use crate::park::{Park, Plan};
use crate::pruner::Pruner;
use crate::recorder::Recorder;
use crate::refusal::Refusal;
use crate::workers::Workers;

/// How long programs may take to leave the mount when the gate ends: one that has just ended closes its
/// files a moment later. The owner waits for longer users before it ends the gate. If the owner was
/// killed, the mount is gone within a second.
const GRACE: Duration = Duration::from_millis(300);

/// How long open files are served after the mount was detached.
const LINGER: Duration = Duration::from_secs(2);

/// Flushes and similar work in parallel: a log writer, a checkpointer and some sessions.
const WORKERS: usize = 8;

/// Reads that wait for the real disk in parallel: the depth at which small reads are commonly measured.
const READERS: usize = 16;

/// The type of a file system in memory (`TMPFS_MAGIC`, statfs(2)).
const TMPFS: i64 = 0x0102_1994;

/// Why a gate ends.
enum End {
    Signal,
    Asked(Stop),
    Unmounted,
}

/// Everything that is running.
struct Running {
    places: Places,
    core: Arc<Core>,
    park: Arc<Park>,
    pruner: Arc<Pruner>,
    recorder: Arc<Recorder>,
    ends: Receiver<End>,
}

/// Run a gate to its end.
///
/// # Errors
/// It cannot be mounted as configured, or not be unmounted.
pub fn run(config: &Config) -> Result<(), Refusal> {
    let places = mount::prepare(config)?;
    // Held until the process ends: two gates on the same files would have two budgets and two caches.
    let _claim = claim(&places.backing)?;
    mount::prepare_image(config, &places.backing)?;
    let socket = listen(&config.socket)?;
    let running = start(config, places, socket)?;
    let done = running.serve(config);
    let _ = std::fs::remove_file(&config.socket);
    done
}

fn start(config: &Config, places: Places, socket: UnixListener) -> Result<Running, Refusal> {
    // Only this account may read the record; from here on files get the modes that are requested.
    let record = open_record(&config.record)?;
    rustix::process::umask(Mode::empty());
    // Writeback through this process must not wait for memory that only writeback can free
    // (prctl(2), PR_SET_IO_FLUSHER). Only root may set it; otherwise the kernel limits it in other ways.
    let _ = rustix::process::configure_io_flusher_behavior(true);
    let timer_error_s = measure_timer_error_s();
    let clock = Clock::begin();
    let counters = Arc::new(Counters::default());
    let pruner = Arc::new(Pruner::new(config.memory_bytes));
    let core = core_of(config, &places, clock, &counters, &pruner, timer_error_s)?;
    let park = Arc::clone(&core.park);
    let recorder = Arc::new(Recorder::new(
        record,
        config.clock,
        clock,
        Arc::clone(&counters),
        Arc::clone(&park),
        Arc::clone(&pruner),
    ));
    let (tell, ends) = channel();
    spawn("gate-park", with(&park, |park| park.run()))?;
    // Never dropped: dropping it would unmount whatever is mounted there by then.
    let session = ManuallyDrop::new(mount_at(config, &places, Arc::clone(&core), &tell)?);
    pruner.connect(session.notifier());
    let running = Running { places, core, park, pruner, recorder, ends };
    running.start_threads(config, clock, counters, timer_error_s, socket, tell)?;
    Ok(running)
}

impl Running {
    fn start_threads(
        &self,
        config: &Config,
        clock: Clock,
        counters: Arc<Counters>,
        timer_error_s: f64,
        socket: UnixListener,
        tell: Sender<End>,
    ) -> Result<(), Refusal> {
        spawn("gate-prune", with(&self.pruner, |pruner| pruner.run()))?;
        spawn("gate-record", with(&self.recorder, |recorder| recorder.run()))?;
        let (stops, stopped) = channel();
        let control = Arc::new(Control {
            clock,
            park: Arc::clone(&self.park),
            counters,
            recorder: Arc::clone(&self.recorder),
            credit_clock: config.clock,
            mode: config.mode,
            timer_error_s,
            stops,
        });
        spawn("gate-ask", move || control.run(&socket))?;
        let tell_stop = tell.clone();
        spawn("gate-stop", move || {
            stopped.into_iter().for_each(|stop| drop(tell_stop.send(End::Asked(stop))));
        })?;
        let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP])
            .map_err(|error| no_room(&format!("signals: {}", said(&error))))?;
        spawn("gate-signal", move || {
            signals.forever().for_each(|_| drop(tell.send(End::Signal)));
        })?;
        say_ready(config, &self.places, timer_error_s);
        Ok(())
    }

    /// Wait for the end, and carry it out.
    fn serve(&self, config: &Config) -> Result<(), Refusal> {
        let end = self.ends.recv().unwrap_or(End::Unmounted);
        self.recorder.end();
        self.park.lift();
        self.pruner.end();
        let (ending, held) = match end {
            End::Unmounted => (Ending::WasGone, None),
            _ => mount::unmount(&self.places.mount, GRACE).map_err(|error| {
                Refusal::new(
                    format!("unable to unmount: {}", said(&error.into())),
                    format!("Run 'sudo umount -l {}'.", self.places.mount.display()),
                )
            })?,
        };
        if ending == Ending::Detached {
            self.linger(held.as_ref());
        }
        self.park.end();
        if let End::Asked(stop) = end {
            let _ = std::fs::remove_file(&config.socket);
            if stop.ended.send(ending).is_ok() {
                let _ = stop.told.recv_timeout(LINGER);
            }
        }
        Ok(())
    }

    /// Serve files that are still open for a short time, and write all data out.
    fn linger(&self, held: Option<&File>) {
        let begun = Instant::now();
        while begun.elapsed() < LINGER && !self.core.files.is_empty() {
            thread::sleep(mount::RETRY);
        }
        mount::write_out(held);
    }
}

fn core_of(
    config: &Config,
    places: &Places,
    clock: Clock,
    counters: &Arc<Counters>,
    pruner: &Arc<Pruner>,
    timer_error_s: f64,
) -> Result<Arc<Core>, Refusal> {
    let chain = Chain::new(&config.chain, config.clock)?;
    let balance = chain.balances(&config.balance_ratio)?;
    let plan = Plan {
        chain,
        balance,
        slack_s: config.slack_s,
        chunk_bytes: config.chunk_bytes,
        latency: config.latency_s,
        is_limited: config.is_limited,
        timer_error_s,
        writing_back_max: usize::from(config.max_background),
        portion_bytes: config.portion_bytes,
    };
    let buffers = Arc::new(Buffers::default());
    let shared = (Arc::clone(counters), Arc::clone(&buffers), Arc::clone(pruner));
    let park = Arc::new(Park::new(plan, clock, shared.0, shared.1, shared.2));
    let open = |path: &Path| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(path, flags, Mode::empty()).map_err(|error| {
            let what = format!("unable to open '{}': {}", path.display(), said(&error.into()));
            Refusal::new(what, "The gate needs its backing folder and a mounted /proc.")
        })
    };
    let root = open(&places.backing)?;
    let is_in_memory = rustix::fs::fstatfs(&root).is_ok_and(|of| of.f_type == TMPFS);
    let share = Share::of(raise_file_limit());
    let inodes = Inodes::new(root, share.idle)
        .map_err(|error| no_room(&format!("the backing folder: {}", said(&error.into()))))?;
    Ok(Arc::new(Core {
        inodes,
        files: Handles::default(),
        folders: Handles::default(),
        room: Room::new(share.handles),
        descriptors: open(Path::new("/proc/self/fd"))?,
        park,
        counters: Arc::clone(counters),
        buffers,
        pruner: Arc::clone(pruner),
        workers: workers("work", WORKERS)?,
        waiting: AtomicUsize::new(0),
        waiting_max: config.threads - 1,
        readers: workers("read", READERS)?,
        is_in_memory,
        clock,
        mode: config.mode,
        is_root: rustix::process::geteuid().is_root(),
        chunk_bytes: config.chunk_bytes,
        flushes: AtomicU64::new(0),
    }))
}

fn mount_at(
    config: &Config,
    places: &Places,
    core: Arc<Core>,
    tell: &Sender<End>,
) -> Result<BackgroundSession, Refusal> {
    let (ended, end) = channel();
    let tell = tell.clone();
    spawn("gate-end", move || {
        if end.recv().is_ok() {
            let _ = tell.send(End::Unmounted);
        }
    })?;
    let mut options = fuser::Config::default();
    options.mount_options = vec![
        MountOption::DefaultPermissions,
        MountOption::FSName(SUBTYPE.to_owned()),
        // The kernel and fusermount3 use the same name for this option.
        MountOption::CUSTOM(format!("subtype={SUBTYPE}")),
    ];
    options.acl = if config.allow_other { SessionACL::All } else { SessionACL::Owner };
    options.n_threads = Some(config.threads);
    options.clone_fd = true;
    let mounted = Session::new(Gate::new(core, ended), &places.mount, &options)
        .and_then(fuser::Session::spawn);
    mounted.map_err(|error| {
        let hint = match error.kind() {
            std::io::ErrorKind::PermissionDenied => {
                "Add the line 'user_allow_other' to /etc/fuse.conf, or mount for this account only."
            }
            std::io::ErrorKind::Unsupported => "A kernel of 3.15 or later is needed.",
            _ => "In a container, '--device /dev/fuse --cap-add SYS_ADMIN' is needed.",
        };
        Refusal::new(format!("unable to mount: {}", said(&error)), hint)
    })
}

fn listen(place: &Path) -> Result<UnixListener, Refusal> {
    let wrong = |what: String| {
        let hint = "Choose another place for the socket; its path has at most 107 bytes.";
        Refusal::new(format!("unable to listen at '{}': {what}", place.display()), hint)
    };
    let is_socket = |found: std::fs::Metadata| found.file_type().is_socket();
    if std::fs::symlink_metadata(place).is_ok_and(is_socket) {
        if UnixStream::connect(place).is_ok() {
            return Err(wrong("another process answers there".to_owned()));
        }
        std::fs::remove_file(place).map_err(|error| wrong(said(&error)))?;
    }
    let before = rustix::process::umask(Mode::from_raw_mode(0o177));
    let socket = UnixListener::bind(place);
    rustix::process::umask(before);
    socket.map_err(|error| wrong(said(&error)))
}

fn open_record(place: &Path) -> Result<File, Refusal> {
    let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(place);
    opened.map_err(|error| {
        Refusal::new(
            format!("unable to write the record '{}': {}", place.display(), said(&error)),
            "Choose a file in a folder that you may write to.",
        )
    })
}

/// Raise the limit of descriptors as far as the system allows; return it.
fn raise_file_limit() -> u64 {
    let most = std::fs::read_to_string("/proc/sys/fs/nr_open").unwrap_or_default();
    let most: Option<u64> = most.trim().parse().ok();
    let raised = Rlimit { current: most, maximum: most };
    if most.is_none() || rustix::process::setrlimit(Resource::Nofile, raised).is_err() {
        let allowed = rustix::process::getrlimit(Resource::Nofile);
        let raised = Rlimit { current: allowed.maximum, ..allowed };
        // If it cannot be raised, the gate is slower with many open files, nothing else.
        let _ = rustix::process::setrlimit(Resource::Nofile, raised);
    }
    rustix::process::getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

fn say_ready(config: &Config, places: &Places, timer_error_s: f64) {
    let ready = json!({
        "ready": true,
        "pid": std::process::id(),
        "mount": places.mount.display().to_string(),
        "socket": config.socket.display().to_string(),
        "record": config.record.display().to_string(),
        "clock": config.clock,
        "timer_error_s": timer_error_s,
    });
    let mut out = std::io::stdout().lock();
    // An error here means that nobody reads our output.
    let _ = writeln!(out, "{ready}").and_then(|()| out.flush());
}

/// Return a function that runs something on a shared value, for a thread of its own.
fn with<T: Send + Sync + 'static>(
    shared: &Arc<T>,
    run: impl FnOnce(&T) + Send + 'static,
) -> impl FnOnce() + Send + 'static {
    let shared = Arc::clone(shared);
    move || run(&shared)
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<(), Refusal> {
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(run);
    spawned.map(drop).map_err(|error| no_room(&said(&error)))
}

fn workers(name: &str, count: usize) -> Result<Workers, Refusal> {
    Workers::start(name, count).map_err(|error| no_room(&said(&error)))
}

fn no_room(what: &str) -> Refusal {
    Refusal::new(
        format!("the system refuses a thread or descriptor that the gate needs: {what}"),
        "Raise its limits on processes and open files.",
    )
}
