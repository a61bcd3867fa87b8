"""The books of tool calls: pairs, ids that no two share, names."""

from __future__ import annotations

from agent_wrap.tools import Tools


def test_calls_of_one_id_are_closed_in_their_order() -> None:
    tools = Tools()
    started = [tools.start("a", name, "") for name in ("Read", "Write")]
    assert [tool.id for tool in started] == ["a", "a#2"]
    assert (len(tools), tools.current("a")) == (2, "a#2")
    closed = [tools.finish("a") for _ in range(3)]
    assert [tool and tool.name for tool in closed] == ["Read", "Write", None]
    assert (len(tools), tools.current("a")) == (0, "")


def test_no_two_calls_share_an_id_whatever_the_agent_says() -> None:
    tools = Tools()
    ids = [tools.start(native, "x", "").id for native in ("", "", "a", "a", "a#2", "a")]
    assert ids == ["tool-1", "tool-2", "a", "a#2", "a#2#2", "a#3"]


def test_a_name_says_whose_call_it_is() -> None:
    tools = Tools()
    tools.start("1", "Agent", "")
    tools.start("2", "Agent", "1")
    assert tools.start("3", "\0", "2").name == "Agent/Agent/\ufffd"
    assert tools.start("4", "", "nobody's").name == "tool"
    assert len(tools.start("5", "x" * 1000, "1").name) == 128


def test_a_call_can_be_forgotten_and_opened_again() -> None:
    tools = Tools()
    for name in ("a", "b", "b"):
        tools.start(name, name, "")
    tools.forget("b")
    assert [tool.id for tool in tools.all_open()] == ["a", "b#2"]
    tools.reopen("b", "b")
    assert tools.start("b", "b", "").id == "b#3"
    assert [tool.id for tool in tools.finish_all()] == ["a", "b#2", "b", "b#3"]
    assert (len(tools), tools.all_open()) == (0, [])
