"""Both DAGs, run by a real scheduler of Airflow 2.11 and of 3.3: three organisations from SFTP to fresh views."""

import json
import os
import signal

import psutil
import psycopg
from conftest import World
from dags.scheduler import Airflow
from manifests import ORGANISATIONS, assert_loaded
from servers import wait_for

MONTH = "2023-01"
STEPS = ("transfer", "load", "check")


def deliver(world: World, airflow: Airflow) -> None:
    world.run("generate", str(world.folder), "--beneficiaries", "40", "--seed", "7", "--months", "1")
    airflow.use(world.settings)


def assert_complete(world: World, airflow: Airflow, after: int) -> int:
    """
    Both DAGs run to their end, tables are the manifests' and views are fresh; return the run of deliveries.
    """
    number = airflow.new_run("claims_deliveries", after)
    tasks = airflow.tasks(number)
    views = airflow.new_run("claims_views", after)
    for organisation in ORGANISATIONS:
        assert_loaded(world, organisation, MONTH)
    names = [name for (name,) in world.ask("SELECT matviewname FROM pg_matviews WHERE schemaname = 'claims'")]

    assert {(f"organisation.{step}", index): "success" for step in STEPS for index in range(3)} == {
        task: state for task, (state, _) in tasks.items() if task[1] >= 0
    }
    assert airflow.run_type(views) in ("dataset_triggered", "asset_triggered")
    assert {"success"} == {state for state, _ in airflow.tasks(views).values()}
    assert names
    for name in names:
        assert_fresh(world, name)
    assert [(True,)] == world.ask("SELECT count(*) > 0 FROM claims.population")
    return number


def assert_fresh(world: World, view: str) -> None:
    """A view has the rows that its definition gives now."""
    definition = world.ask("SELECT pg_get_viewdef(%s::regclass)", f"claims.{view}")[0][0]
    query = definition.rstrip(";")
    stored = f"SELECT * FROM claims.{view}"
    for one, other in ((stored, query), (query, stored)):
        assert [] == world.ask(f"({one}) EXCEPT ALL ({other})"), view


def loading(organisation: str, world: World) -> list[psutil.Process]:
    """Return the programs that load an organisation's claims into the world's database."""
    found = []
    for process in psutil.process_iter():
        try:
            words, environment = process.cmdline(), process.environ()
        except psutil.Error:
            continue
        is_load = words[1:5] == ["-m", "claims_pipeline", "load", organisation]
        if is_load and environment.get("CLAIMS_DATABASE_URL") == world.url:
            found.append(process)
    return found


def is_gone(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


class Runs:
    """
    The tests, for each version. One class is one scope of pytest-xdist, so that each Airflow is started once.
    """

    version: int

    def test_a_delivery_of_three_organisations_goes_from_sftp_to_fresh_views(self, world: World, airflow: Airflow):
        """
        Nobody does anything but deliver: the schedule, the mapped tasks and the change of the tables do the rest.
        """
        before = airflow.last_run()
        deliver(world, airflow)
        airflow.run_deliveries()

        number = assert_complete(world, airflow, before)
        assert {1} == {tries for (_, index), (_, tries) in airflow.tasks(number).items() if index >= 0}
        # The next hour, in which nothing was delivered.
        before = airflow.last_run()
        airflow.run_deliveries()
        nothing = airflow.tasks(airflow.new_run("claims_deliveries", before))
        assert ("success", 1) == nothing["complete", -1]
        assert ["success", "skipped"] == [nothing[name, -1][0] for name in ("find", "announce")]

    def test_a_task_that_is_killed_in_mid_load_is_done_again_by_airflow(self, world: World, airflow: Airflow):
        """
        SIGKILL to the task's process, while the load of one organisation has loaded some files and not all.
        """
        before = airflow.last_run()
        deliver(world, airflow)
        waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = %s::regclass"
        table = "claims.part_b_lines_a1002"
        with psycopg.connect(world.url) as blocking:
            # Readers may pass; the load waits here with its rows staged.
            blocking.execute(f"LOCK TABLE {table} IN SHARE MODE")
            airflow.run_deliveries()
            airflow.wait("the load", lambda: world.ask(waiting, table) == [(1,)])
            loaded = world.ask("SELECT count(*) FROM claims.files WHERE organisation = 'A1002'")[0][0]
            (program,) = loading("A1002", world)
            os.kill(program.ppid(), signal.SIGKILL)
            wait_for("the end of the program", lambda: is_gone(program))
            blocking.rollback()

        number = assert_complete(world, airflow, before)
        tries = {task: tries for task, (_, tries) in airflow.tasks(number).items() if task[1] >= 0}
        killed = ("organisation.load", ORGANISATIONS.index("A1002"))
        assert 0 < loaded < 6
        assert 2 == tries.pop(killed)
        assert {1} == set(tries.values())

    def test_an_organisation_that_fails_for_good_keeps_no_other_from_the_views(self, world: World, airflow: Airflow):
        """
        A file of A1002 has a line less than its manifest says, so nothing of it is loaded, at each try.
        """
        before = airflow.last_run()
        deliver(world, airflow)
        manifest = world.folder / "A1002" / MONTH / "manifest.json"
        said = json.loads(manifest.read_text())
        said["files"][0]["records"] += 1
        manifest.write_text(json.dumps(said))
        airflow.run_deliveries()

        number = airflow.new_run("claims_deliveries", before, "failed")
        views = airflow.new_run("claims_views", before)
        tasks, broken = airflow.tasks(number), ORGANISATIONS.index("A1002")
        for organisation in ("A1001", "A1003"):
            assert_loaded(world, organisation, MONTH)
        assert {"failed", "upstream_failed"} == {
            tasks.pop((f"organisation.{step}", broken))[0] for step in ("load", "check")
        }
        assert "failed" == tasks.pop(("complete", -1))[0]
        assert {"success"} == {state for state, _ in tasks.values()}
        assert "not loaded: A1002; see their tasks" in airflow.log("complete")
        assert {"success"} == {state for state, _ in airflow.tasks(views).values()}
        assert [("A1001",), ("A1003",)] == world.ask("SELECT DISTINCT organisation FROM claims.population ORDER BY 1")
        assert_fresh(world, "population")


class TestAirflow2(Runs):
    version = 2


class TestAirflow3(Runs):
    version = 3
