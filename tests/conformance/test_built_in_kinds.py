"""The data file of built-in kinds is what the real server says now."""

from tools.kubernetes.build import kubernetes_version
from tools.openapi.built_in_kinds import OUTPUT, content, render
from vcray.cluster.kinds.data import kinds_data


def test_the_data_file_is_what_the_server_tells(real_apiserver):
    wanted = render(content(real_apiserver.client, kubernetes_version()))

    theirs = {line for line in wanted.splitlines() if ".sh/" not in line and '"group":' not in line}
    ours = set(OUTPUT.read_text().splitlines())
    ours = {line for line in ours if '"group":' not in line}

    assert ours - theirs == set()
    assert kinds_data().kubernetes == f"v{kubernetes_version()}"
