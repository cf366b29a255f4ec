"""
Play failovers under load on a Patroni cluster behind Pgpool-II, one fault after the other.

Rule 1: a fault ends as it would elsewhere: the machine comes back, the network works again. Nothing else is done to the
        cluster or the pooler; that all standbys follow and the pooler uses all nodes again is their own work.
Rule 2: a cluster that does not heal is an answer, not an error: the round says why, and is the last one.
Rule 3: clients write through the pooler all the time; the final read is at the server that takes writes.
"""

import secrets
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

from msgspec import Struct
from psycopg.conninfo import make_conninfo

from plimsoll.errors import SourceError
from plimsoll_lab.experiments.failover.checker import SetChecker, longest_gap_s
from plimsoll_lab.experiments.failover.database import create_table, following, read_all
from plimsoll_lab.experiments.failover.pooler import PoolerWatch
from plimsoll_lab.experiments.failover.services import SIZES, Looked, ServicesWatch, fleet_of, fleet_words
from plimsoll_lab.experiments.pooled_cluster.database import DATABASE, ROLE, create_database
from plimsoll_lab.experiments.pooled_cluster.ground import prepare_system, set_connection_max
from plimsoll_lab.experiments.pooled_cluster.system import PooledSystem
from plimsoll_lab.model.failover import FailoverReport, FailoverRound, Fault, ServicesView, Synchronous, WriteCounts
from plimsoll_lab.servers.patroni import PatroniCluster, PatroniNode
from plimsoll_lab.servers.pgpool import Pgpool
from plimsoll_lab.sessions.session import PrintLine

_CALM_S = 2.0
"""Writes before each fault, to see that they are taken."""
_HEALED_S = 180.0
_POLL_S = 0.2
# Pgpool-II runs as many children; two per client, as those of lost connections end later.
_CHILDREN_PER_CLIENT = 2
_SPARE_CHILDREN = 8
# Each child is a session at every node, which allows 100 by default.
_CHILDREN_USUAL = 80


class FailoverPlan(Struct, frozen=True, kw_only=True):
    """What is played."""

    synchronous: Synchronous
    faults: tuple[Fault, ...]
    writers: int
    services: int
    """Java services beside the writers; 0 for none."""
    system: Path
    """Folder of the pooled cluster, which has the services."""
    nodes: int = 3


class Played(Struct, frozen=True, kw_only=True):
    """What is left when all faults are over."""

    rounds: tuple[FailoverRound, ...]
    checker: SetChecker
    there: set[int]
    services: ServicesView | None
    servers: str


def play(plan: FailoverPlan, print_line: PrintLine, end_round: Callable[[int, FailoverRound], None]) -> Played:
    """
    Play all faults, and read what is there; after Ctrl-C, what the rounds before have left.

    Args:
        plan: what is played.
        print_line: called with a sentence before each step.
        end_round: called with each round, and its number from 1.

    Raises:
        KeyboardInterrupt: it was interrupted before the first round was over, or a second time.
        UsageError: a program of the servers or services is missing.
        SourceError: a server did not start, or no server takes writes in the end.
    """
    with ExitStack() as stack:
        system = prepare_system(plan.system, print_line, stack) if plan.services else None
        cluster = PatroniCluster(plan.nodes)
        print_line(f"starting {plan.nodes} PostgreSQL under Patroni {cluster.version}")
        stack.enter_context(cluster)
        _set_synchronous(cluster, plan.synchronous)
        password = secrets.token_urlsafe(18)
        pooler = _start_pooler(plan, cluster, password, stack)
        services = _start_services(plan, system, cluster, pooler, password, print_line, stack)
        names = {node.port: name for name, node in cluster.nodes.items()}
        watch = stack.enter_context(PoolerWatch(pooler.address, names))
        world = _World(plan, cluster, watch, services)
        world.await_healed()
        checker = SetChecker(pooler.address, plan.writers)
        first = None if services is None else services.now()
        rounds: list[FailoverRound] = []
        try:
            with checker.writing():
                for number, fault in enumerate(plan.faults, 1):
                    rounds.append(world.played(fault, checker))
                    end_round(number, rounds[-1])
                    if rounds[-1].problem is not None:
                        break
        except KeyboardInterrupt:
            if not rounds:
                raise
            print_line("interrupted; Ctrl-C again ends at once")
        seen = None if services is None or first is None else services.view(first, services.now())
        print_line("reading all integers, under a lock")
        there = read_all(_own_address(cluster.await_leader()))
        servers = f"{plan.nodes} PostgreSQL under Patroni {cluster.version}, Pgpool-II {pooler.version}"
        return Played(rounds=tuple(rounds), checker=checker, there=there, services=seen, servers=servers)


def report_of(plan: FailoverPlan, played: Played, machine: str, notes: tuple[str, ...]) -> FailoverReport:
    """Return the report of what was played."""
    checker = played.checker
    return FailoverReport(
        synchronous=plan.synchronous,
        rounds=played.rounds,
        round_count=len(plan.faults),
        writers=plan.writers,
        writes=checker.counts,
        lost=len(checker.acknowledged - played.there),
        unknown_there=len(checker.unknown & played.there),
        refused_there=len(checker.refused & played.there),
        services=played.services,
        fleet=fleet_words(fleet_of(plan.services)) if plan.services else "",
        machine=machine,
        servers=played.servers,
        notes=notes,
    )


class _World:
    """The cluster, its pooler and the services, while faults are played on them."""

    def __init__(
        self, plan: FailoverPlan, cluster: PatroniCluster, pooler: PoolerWatch, services: ServicesWatch | None
    ) -> None:
        self._plan, self._cluster = plan, cluster
        self._pooler, self._services = pooler, services

    def played(self, fault: Fault, checker: SetChecker) -> FailoverRound:
        """Play one fault, and wait until the cluster has healed."""
        time.sleep(_CALM_S)
        leader = self._cluster.await_leader()
        before, errors = checker.counts, checker.errors_seen()
        first = None if self._services is None else self._services.now()
        begin_s = mend_s = time.monotonic()
        problem = None
        try:
            self._await_writes(checker, begin_s - _CALM_S)
            self._break(fault, leader)
            self._wait(lambda: self._has_other_leader(leader), f"no other node took over from {leader.name}")
            self._await_writes(checker, time.monotonic())
            mend_s = time.monotonic()
            self._mend(fault, leader)
            self.await_healed()
            self._await_writes(checker, time.monotonic())
        except SourceError as error:
            problem = error.message
        end_s = time.monotonic()
        after = self._cluster.leader()
        to_node = None if after is None else after.name
        return FailoverRound(
            fault=fault,
            from_node=leader.name,
            to_node=to_node,
            no_write_s=longest_gap_s(checker.times_since(begin_s - _CALM_S), begin_s - _CALM_S, end_s),
            healed_s=end_s - mend_s if problem is None else None,
            problem=problem,
            writes=_since(checker.counts, before),
            pooler=self._pooler.view(begin_s, end_s, to_node),
            services=self._services_view(first),
            errors=dict((checker.errors_seen() - errors).most_common()),
        )

    def await_healed(self) -> None:
        """
        Wait until all standbys follow the leader, the pooler uses all nodes, and the services do their work.

        Raises:
            SourceError: they do not within three minutes.
        """
        self._wait(self._follow, "the standbys do not follow the leader")
        self._wait(self._is_pooler_whole, "Pgpool-II does not use all nodes again")
        if (services := self._services) is not None:
            since_s = time.monotonic()
            self._wait(lambda: services.has_done_since(since_s), "the services do nothing")

    def _services_view(self, first: Looked | None) -> ServicesView | None:
        if self._services is None or first is None:
            return None
        return self._services.view(first, self._services.now())

    def _break(self, fault: Fault, leader: PatroniNode) -> None:
        if fault is Fault.KILL:
            leader.kill()
        elif fault is Fault.PARTITION:
            self._cluster.cut_off(leader)
        else:
            # Patroni refuses it until a standby is ready.
            self._wait(
                lambda: self._has_other_leader(leader) or self._is_handed_over(leader),
                f"{leader.name} does not hand over",
            )

    def _is_handed_over(self, leader: PatroniNode) -> bool:
        with suppress(SourceError):
            self._cluster.switch_over(leader)
            return True
        return False

    def _mend(self, fault: Fault, node: PatroniNode) -> None:
        if fault is Fault.KILL:
            self._cluster.start_again(node)
        elif fault is Fault.PARTITION:
            self._cluster.reconnect(node)

    def _has_other_leader(self, former: PatroniNode) -> bool:
        leader = self._cluster.leader()
        return leader is not None and leader is not former

    def _await_writes(self, checker: SetChecker, since_s: float) -> None:
        self._wait(lambda: bool(checker.times_since(since_s)), "no write is taken")

    def _follow(self) -> bool:
        leader = self._cluster.leader()
        states = [] if leader is None else following(leader.address)
        is_strict = self._plan.synchronous is Synchronous.STRICT
        return len(states) == self._plan.nodes - 1 and (not is_strict or "sync" in states)

    def _is_pooler_whole(self) -> bool:
        states = self._pooler.states
        leader = self._cluster.leader()
        return (
            leader is not None
            and len(states) == self._plan.nodes
            and all(status == "up" for status, _ in states.values())
            and states[leader.name][1] == "primary"
        )

    @staticmethod
    def _wait(is_so: Callable[[], bool], otherwise: str) -> None:
        until = time.monotonic() + _HEALED_S
        while not is_so():
            if time.monotonic() > until:
                raise SourceError(
                    f"{otherwise} within {_HEALED_S:.0f} s", "Run the experiment again on a machine that is less busy."
                )
            time.sleep(_POLL_S)


def _since(now: WriteCounts, before: WriteCounts) -> WriteCounts:
    return WriteCounts(
        acknowledged=now.acknowledged - before.acknowledged,
        refused=now.refused - before.refused,
        unknown=now.unknown - before.unknown,
    )


def _own_address(node: PatroniNode) -> str:
    """Return the address of the experiment's database at a node, of a superuser."""
    return make_conninfo(node.address, dbname=DATABASE)


def _start_pooler(plan: FailoverPlan, cluster: PatroniCluster, password: str, stack: ExitStack) -> Pgpool:
    """Create the database, and start the pooler in front of all nodes."""
    create_database(cluster.await_leader().address, password)
    clients = plan.writers + (fleet_of(plan.services).connections if plan.services else 0)
    children = _CHILDREN_PER_CLIENT * clients + _SPARE_CHILDREN
    if children > _CHILDREN_USUAL:
        set_connection_max(cluster, children + _SPARE_CHILDREN)
    # It takes a standby back by the name under which that replicates.
    names = {f"backend_application_name{place}": name for place, name in enumerate(cluster.nodes)}
    pooler = Pgpool(
        cluster.ports,
        user=ROLE,
        password=password,
        database=DATABASE,
        settings={"num_init_children": str(children), **names},
    )
    stack.enter_context(pooler)
    create_table(pooler.address)
    return pooler


def _start_services(
    plan: FailoverPlan,
    system: PooledSystem | None,
    cluster: PatroniCluster,
    pooler: Pgpool,
    password: str,
    print_line: PrintLine,
    stack: ExitStack,
) -> ServicesWatch | None:
    if system is None:
        return None
    print_line(f"filling the database with {SIZES['orders']:,} simulated orders")
    system.fill(cluster.await_leader().port, password, **SIZES)
    fleet = fleet_of(plan.services)
    print_line(f"starting {fleet_words(fleet)}")
    return stack.enter_context(ServicesWatch(system.start(fleet, pooler.port, password)))


def _set_synchronous(cluster: PatroniCluster, synchronous: Synchronous) -> None:
    is_strict = synchronous is Synchronous.STRICT
    cluster.change({"synchronous_mode": is_strict, "synchronous_mode_strict": is_strict})
