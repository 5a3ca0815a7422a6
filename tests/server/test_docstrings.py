import pytest

from mcpfleet.server.docstrings import read

NAMES = {"city", "days", "units"}

GOOGLE = """Forecast the weather.

    It is often right.

    Args:
        city: The name of a city,
            in any language.
        days (int, optional): How many days.
        other: Not a parameter.

    Returns:
        A forecast.
    """

NUMPY = """Forecast the weather.

    It is often right.

    Parameters
    ----------
    city : str
        The name of a city,
        in any language.
    days, units : int
        How many days.

    Returns
    -------
    Forecast
        A forecast.
    """

SPHINX = """Forecast the weather.

    It is often right.

    :param city: The name of a city,
        in any language.
    :param int days: How many days.
    :type days: int
    :returns: A forecast.
    """


@pytest.mark.parametrize(
    ("docstring", "rest", "units"),
    [
        (GOOGLE, "Returns:\n    A forecast.", None),
        (NUMPY, "Returns\n-------\nForecast\n    A forecast.", "How many days."),
        (SPHINX, ":type days: int\n:returns: A forecast.", None),
    ],
    ids=["google", "numpy", "sphinx"],
)
def test_arguments_are_read_in_the_usual_styles(docstring: str, rest: str, units: str | None) -> None:
    text, found = read(docstring, NAMES)
    expected = {"city": "The name of a city, in any language.", "days": "How many days."}
    assert found == (expected | {"units": units} if units else expected)
    assert text == f"Forecast the weather.\n\nIt is often right.\n\n{rest}"


@pytest.mark.parametrize(
    ("docstring", "text"),
    [
        (None, None),
        ("", None),
        ("  \n ", None),
        ("One line.", "One line."),
        ("\n    Two\n      lines.\n    ", "Two\n  lines."),
        ("\nArgs:\n    foreign: About something else.", "Args:\n    foreign: About something else."),
        ("Parameters\n----------", "Parameters\n----------"),
        ("Parameters", "Parameters"),
        ("Args:", "Args:"),
        ("\nParameters of the weather:\n    city: in prose", "Parameters of the weather:\n    city: in prose"),
        (":param foreign: x", ":param foreign: x"),
        ("A title\n-------\ntext", "A title\n-------\ntext"),
    ],
)
def test_what_describes_no_argument_stays_in_the_text(docstring: str | None, text: str | None) -> None:
    assert read(docstring, NAMES) == (text, {})


def test_an_argument_named_without_words_has_no_description() -> None:
    assert read("Text.\n\nArgs:\n    city:\n    days: Many.", NAMES) == ("Text.", {"days": "Many."})


def test_stars_belong_to_no_name() -> None:
    assert read("\nArgs:\n    *city: A.\n    **days: B.", NAMES) == (None, {"city": "A.", "days": "B."})


def test_a_colon_in_the_words_is_kept() -> None:
    assert read("\nArgs:\n    city (str): Such as: Paris.", NAMES)[1] == {"city": "Such as: Paris."}
