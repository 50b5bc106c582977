"""Charts as SVG: where things stand, what readers without eyes get, and that names stay text."""

from xml.etree import ElementTree

import numpy as np
import pytest

from cear.reports import Bars, Curve, Heat, to_svg
from cear.reports.pages.axes import Axis, linear, logarithmic, nice_step

SVG = "{http://www.w3.org/2000/svg}"


def drawn(chart):
    """The elements of a chart that reads well as XML."""
    return ElementTree.fromstring(to_svg(chart, alone=False))


def titled(chart, name):
    """The elements that say something when they are pointed at, by what they say."""
    return {each.find(f"{SVG}title").text: each for each in drawn(chart).iter(f"{SVG}{name}")
            if each.find(f"{SVG}title") is not None}  # fmt: skip


def heights(chart):
    return {say: float(bar.get("height")) for say, bar in titled(chart, "rect").items()}


@pytest.mark.parametrize(("span", "step"), [(1, 0.2), (0.112, 0.05), (3000, 1000), (10, 2), (12, 5)])
def test_a_step_is_one_two_or_five_times_a_power_of_ten(span, step):
    assert nice_step(span) == pytest.approx(step)


def test_an_axis_ends_at_ticks_and_holds_all_values():
    axis = linear([0.31, 0.422], 100, 0, zero=False)
    assert (axis.ticks, axis.labels) == ((0.3, 0.35, 0.4, 0.45), ("0.30", "0.35", "0.40", "0.45"))
    assert (axis.at(0.3), axis.at(0.45)) == (100, 0)
    assert axis.at(0.375) == pytest.approx(50)


@pytest.mark.parametrize("value", [0.0, 0.4, -3.0])
def test_an_axis_of_one_value_has_room_on_both_sides(value):
    axis = linear([value], 0, 1, zero=False)
    assert axis.low < value < axis.high


def test_a_logarithmic_axis_has_powers_of_ten():
    axis = logarithmic([0, 1, 340], 0, 100)
    assert axis.labels == ("1", "10", "100", "1,000")
    assert axis.at(10) - axis.at(1) == pytest.approx(axis.at(1000) - axis.at(100))
    assert axis.at(0) == 0  # no bar


def test_ticks_of_a_sweep_are_its_own_values():
    assert Axis(10, 40, (10, 20, 30, 40), 0, 300).labels == ("10", "20", "30", "40")


def test_bars_are_as_high_as_their_values():
    found = heights(Bars("b", "t", "rank", "queries", ("1", "2"), {"CEAR": (40.0, 10.0), "other": (20.0, 0.0)}))
    assert found["CEAR, 1: 40"] == pytest.approx(4 * found["CEAR, 2: 10"], rel=1e-3)
    assert found["CEAR, 1: 40"] == pytest.approx(2 * found["other, 1: 20"], rel=1e-3)
    assert found["other, 2: 0"] == 0


def test_a_negative_bar_hangs_where_the_others_stand():
    bars = titled(Bars("b", "t", "relation", "gain", ("up", "down"), {"a": (2.0, -1.0)}), "rect")
    up, down = bars["a, up: 2"], bars["a, down: -1"]
    assert float(up.get("y")) + float(up.get("height")) == pytest.approx(float(down.get("y")), abs=0.02)
    assert float(up.get("height")) == pytest.approx(2 * float(down.get("height")), abs=0.05)


def test_logarithmic_bars_show_one_beside_a_thousand():
    found = heights(Bars("b", "t", "rank", "queries", ("1", "2", "3"), {"a": (1000.0, 1.0, 0.0)}, log=True))
    assert found["a, 2: 1"] > 10
    assert found["a, 3: 0"] == 0


def test_a_point_of_a_curve_is_marked_and_higher_values_stand_higher():
    chart = Curve("c", "t", "k", "H@1", {"a": ((20, 0.4), (10, 0.3))})
    points = titled(chart, "circle")
    low, high = points["a, 10: 0.3"], points["a, 20: 0.4"]
    assert float(low.get("cx")) < float(high.get("cx"))
    assert float(low.get("cy")) > float(high.get("cy"))


def test_series_differ_in_the_shape_of_their_marks():
    chart = Curve("c", "t", "k", "H@1", {"a": ((1, 1),), "b": ((1, 2),)})
    assert len(titled(chart, "circle")) == 1
    assert len(titled(chart, "polygon")) == 1


def test_shades_grow_with_the_values():
    cells = titled(Heat("h", "t", ("q",), ("a", "b", "c"), np.array([[0.0, 0.2, 0.8]])), "rect")
    assert [float(cell.get("fill-opacity")) for cell in cells.values()] == [0, 0.25, 1]
    assert [*cells] == ["q, a: 0", "q, b: 0.2", "q, c: 0.8"]


def test_equal_values_have_shades_too():
    cells = titled(Heat("h", "t", ("q",), ("a",), np.zeros((1, 1))), "rect")
    assert [float(cell.get("fill-opacity")) for cell in cells.values()] == [0]


def test_a_screen_reader_gets_a_name_and_a_description():
    root = drawn(Bars("b", "Ranks", "rank", "queries", ("1", "2"), {"CEAR": (40.0, 10.0)}))
    named = {each.get("id"): each.text for each in root if each.get("id")}
    assert (root.get("role"), root.get("aria-labelledby")) == ("img", " ".join(named))
    assert named == {"b-title": "Ranks", "b-desc": "Bars of queries by rank. CEAR: highest at 1, 40."}


def test_many_numbers_are_thinned_and_many_names_are_turned():
    def shown(names):
        chart = Bars("b", "t", "x", "y", names, {"a": (1.0,) * len(names)})
        return [each for each in drawn(chart).iter(f"{SVG}text") if each.text in names and each.get("x")]

    numbers = shown(tuple(str(1000 + each) for each in range(40)))
    assert [each.text for each in numbers[:2]] == ["1000", "1003"]
    names = shown(tuple(f"relation {chr(97 + each)}" for each in range(10)))
    assert len(names) == 10
    assert all("rotate(-40" in each.get("transform") for each in names)


@pytest.mark.parametrize("name", ["<script>alert(1)</script>", 'a"&b', "zero\x00", "x" * 200])
def test_names_are_text_in_drawings(name):
    charts = (
        Bars(label="b", title=name, x=name, y=name, names=(name,), series={name: (1.0,)}),
        Curve("c", name, name, name, {name: ((1, 1),)}),
        Heat("h", name, (name,), (name,), np.ones((1, 1))),
    )
    for chart in charts:
        root = ElementTree.fromstring(to_svg(chart))
        assert root.find(f"{SVG}title").text == name.replace("\x00", "")
        assert {each.tag.removeprefix(SVG) for each in root.iter()} <= {
            "svg", "title", "desc", "style", "rect", "line", "text", "polyline", "polygon", "circle",
        }  # fmt: skip


def test_a_drawing_brings_its_colours_only_when_it_stands_alone():
    chart = Curve("c", "t", "k", "H@1", {"a": ((1, 1),)})
    assert "prefers-color-scheme: dark" in to_svg(chart)
    assert "<style" not in to_svg(chart, alone=False)


def test_without_a_series_nothing_was_run():
    assert [each.text for each in drawn(Curve("c", "t", "k", "H@1", {})).iter(f"{SVG}text")] == ["not run here"]
