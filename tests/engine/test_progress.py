from kermes.engine import _progress
from kermes.engine._progress import Progress


def shown(monkeypatch, capsys, show, patience):
    monkeypatch.setattr(_progress, "PATIENCE", patience)
    with Progress(10, show, "Title") as progress:
        progress.advance(4)
        progress.advance(6)
    return capsys.readouterr()


def test_quiet_in_pipes(monkeypatch, capsys):
    streams = shown(monkeypatch, capsys, "auto", patience=-1.0)
    assert streams.err == streams.out == ""


def test_quiet_for_short_work(monkeypatch, capsys):
    assert shown(monkeypatch, capsys, True, patience=60.0).err == ""


def test_shown_on_request(monkeypatch, capsys):
    streams = shown(monkeypatch, capsys, True, patience=-1.0)
    assert "Title" in streams.err
    assert "10/10" in streams.err
    assert streams.out == ""


def test_never_when_off(monkeypatch, capsys):
    assert shown(monkeypatch, capsys, False, patience=-1.0).err == ""
