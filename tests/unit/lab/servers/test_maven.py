"""Maven is handed a project that names the artifacts and no more."""

from xml.etree import ElementTree as ET

from plimsoll_lab.servers.maven import project_of
from plimsoll_lab.servers.package import OPENSEARCH, S3

SPACE = "{http://maven.apache.org/POM/4.0.0}"


def test_a_project_has_a_dependency_for_each_artifact():
    """With its type where the coordinates have one."""
    project = ET.fromstring(project_of(OPENSEARCH))
    found = [":".join(str(part.text) for part in dependency) for dependency in project.iter(f"{SPACE}dependency")]

    assert [
        "org.opensearch.distribution.integ-test-zip:opensearch:2.19.6:zip",
        "org.opensearch.plugin:reindex-client:2.19.6",
        "org.opensearch.plugin:analysis-common:2.19.6",
    ] == found


def test_an_artifact_with_all_in_it_comes_alone():
    """It has a classifier, and what it depends on is left out."""
    (dependency,) = ET.fromstring(project_of(S3)).iter(f"{SPACE}dependency")
    found = {part.tag.removeprefix(SPACE): part for part in dependency}

    assert "jar-with-dependencies" == found["classifier"].text
    assert ["*", "*"] == [part.text for part in found["exclusions"][0]]
