"""Maven is handed a project that names the artifacts and no more."""

from xml.etree import ElementTree as ET

from plimsoll.lab.servers.maven import project_of
from plimsoll.lab.servers.package import OPENSEARCH

SPACE = "{http://maven.apache.org/POM/4.0.0}"


def test_a_project_has_a_dependency_for_each_artifact():
    """
    With its type, which is jar where the coordinates have none.
    """
    project = ET.fromstring(project_of(OPENSEARCH))
    found = [
        ":".join(str(part.text) for part in dependency)
        for dependency in project.iter(f"{SPACE}dependency")
    ]

    assert [
        "org.opensearch.distribution.integ-test-zip:opensearch:2.19.6:zip",
        "org.opensearch.plugin:reindex-client:2.19.6:jar",
        "org.opensearch.plugin:analysis-common:2.19.6:jar",
    ] == found
