"""The observer draws sockets, NUMA nodes and CPUs, and who has them.

Pictures are kept in `.artifacts`.
"""

from __future__ import annotations

from pathlib import Path

from tests.real.browser import Browser
from tests.real.test_observer_page import PICTURES, page, shows, watched
from tests.simulation.node.test_shares import MACHINE, STATIC, pinned
from tests.simulation.node.worlds import container, manifest

__all__ = ["page"]

PODS = {
    "cart": manifest("cart", [pinned("4"), pinned("1", name="side")]),
    "shop": manifest("shop", [pinned("6", "3Gi")]),
    "web": manifest("web", [container()]),
}


def test_each_cpu_is_drawn_in_its_node_with_its_holder(page: Browser, tmp_path: Path) -> None:
    with watched(tmp_path, MACHINE, STATIC) as found:
        for name, text in PODS.items():
            found.node.put_manifest(f"{name}.yaml", text)
        page.open(found.link)
        page.until(shows("5 of 5 well"))
        page.until("document.querySelectorAll('#sockets .cpu.given').length === 11")
        assert page.says("document.querySelectorAll('.socket').length") == 2
        assert page.says("document.querySelectorAll('.numa')[1].querySelectorAll('.cpu').length") == 8
        assert page.says("document.querySelectorAll('#sockets .cpu.reserved').length") == 2
        held = page.says("[...document.querySelectorAll('#sockets .cpu.given')].map((each) => each.title)")
        assert any("shop-worker-7" in each for each in held)
        for width, height in ((1280, 800), (390, 844)):
            page.resize(width, height)
            page.says("document.getElementById('shares-box').scrollIntoView()")
            page.picture(PICTURES / f"observer-shares-{width}.png")
            assert page.says("document.documentElement.scrollWidth") <= width, "nothing is cut off"
            below = page.says("document.getElementById('holders').getBoundingClientRect().bottom")
            assert below <= page.says("document.getElementById('shares-box').getBoundingClientRect().bottom")
            assert page.faults_of_access() == []
        page.dark()
        page.picture(PICTURES / "observer-shares-dark.png")
        assert page.faults_of_access() == []
        found.node.remove_manifest("cart.yaml")
        found.node.remove_manifest("shop.yaml")
        page.until("document.querySelectorAll('#sockets .cpu.given').length === 0")
        assert not [line for line in page.messages if '"error"' in line], page.messages


def test_a_node_without_policies_shows_no_such_panel(page: Browser, tmp_path: Path) -> None:
    with watched(tmp_path) as found:
        page.open(found.link)
        page.until(shows("2 of 2 well"))
        assert page.says("document.getElementById('shares-box').hidden")
