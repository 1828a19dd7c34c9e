import kr8s
from notes import write_notes


def test_only_pods_with_an_address_get_a_note(simulated_cluster):
    api = kr8s.api(kubeconfig=simulated_cluster.kubeconfig)
    simulated_cluster.behave("web-*", start_delay="20s")
    web = simulated_cluster.load("web", 3, labels={"app": "web"})
    assert write_notes(api) == [], "they have no address yet"

    simulated_cluster.until(lambda: web.ready == 3)
    assert len(write_notes(api)) == 3
    assert write_notes(api) == [], "once is enough"
