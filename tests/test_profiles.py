from importlib import import_module
from pathlib import Path

import pytest
from scrapy.settings import Settings
from scrapy.utils.conf import get_config

from tests.support.crawls import PROJECT
from tplspider.arguments import Config
from tplspider.profiles import apply_profile, keep_apart, profile_names, profile_settings

OF_THE_PROJECT = {"ADDONS", "BOT_NAME", "COMMANDS_MODULE", "NEWSPIDER_MODULE", "SPIDER_MODULES"}


def constants(module: str) -> dict[str, object]:
    return {name: value for name, value in vars(import_module(module)).items() if name.isupper()}


def test_the_top_level_settings_are_the_librarys_profiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    names = {path.stem for path in Path("settings").glob("[a-z]*.py")}
    assert names == set(profile_names())
    assert dict(get_config().items("settings")) == {name: f"settings.{name}" for name in names}
    for name in names:
        assert constants(f"settings.{name}") == constants(f"tplspider.profiles.{name}")


@pytest.mark.parametrize("name", profile_names())
def test_what_a_project_is_made_of_stays_its_own(name: str) -> None:
    whole = profile_settings(name, whole=True)
    assert not whole.keys() & OF_THE_PROJECT
    assert whole["ROBOTSTXT_OBEY"] is True
    assert profile_settings(name).items() <= whole.items()


def adapted(project: dict[str, object], profile: str, **command_line: object) -> Settings:
    settings = Settings(project)
    settings.setdict({"TPLSPIDER_PROFILE": profile, **command_line}, priority="cmdline")
    apply_profile(settings)
    return settings


def test_another_project_gets_the_whole_profile() -> None:
    other = {"BOT_NAME": "other", "DOWNLOAD_DELAY": 9, "ROBOTSTXT_OBEY": False}
    settings = adapted(other, "default", RETRY_TIMES=7)
    assert settings["BOT_NAME"] == "other"
    assert settings.getint("DOWNLOAD_DELAY") == 1
    assert settings.getbool("ROBOTSTXT_OBEY")
    assert settings.getint("RETRY_TIMES") == 7
    assert adapted(other, "fast").getint("DOWNLOAD_DELAY") == 0


def test_a_profile_adds_to_the_middlewares_of_a_project() -> None:
    table = {"other.Middleware": 543}
    settings = adapted({"BOT_NAME": "other", "DOWNLOADER_MIDDLEWARES": table}, "browser")
    middlewares = settings.getdict("DOWNLOADER_MIDDLEWARES")
    assert middlewares == {**table, "tplspider.browser.BrowserMiddleware": 540}


@pytest.mark.parametrize("name", profile_names())
def test_no_profile_lifts_what_confines_jobs_on_a_server(name: str) -> None:
    settings = adapted(constants("tplspider.profiles.scrapyd"), name)
    config = Config.of(settings)
    assert config.confine
    assert not config.allow_private
    has_browser = "tplspider.browser.BrowserMiddleware" in settings["DOWNLOADER_MIDDLEWARES"]
    assert has_browser == (name == "browser")


def test_a_profile_where_there_is_no_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor one of that name: what is misspelt does not crawl without delays."""
    monkeypatch.delenv("SCRAPY_SETTINGS_MODULE", raising=False)
    for name, delay in (("default", 1), ("fast", 0)):
        monkeypatch.setenv("SCRAPY_PROJECT", name)
        keep_apart(settings := Settings())
        apply_profile(settings)
        assert settings.getint("DOWNLOAD_DELAY") == delay
    monkeypatch.setenv("SCRAPY_PROJECT", "misspelt")
    keep_apart(settings := Settings())
    with pytest.raises(ValueError, match="misspelt"):
        apply_profile(settings)
