from kermes.engine._progress import Progress


def shown(capsys, show, patience):
    with Progress(10, show, "Title", patience=patience) as progress:
        progress.advance(4)
        progress.advance(6)
    return capsys.readouterr()


def test_quiet_in_pipes(capsys):
    streams = shown(capsys, "auto", patience=-1.0)
    assert streams.err == streams.out == ""


def test_quiet_for_short_work(capsys):
    assert shown(capsys, True, patience=60.0).err == ""


def test_shown_on_request(capsys):
    streams = shown(capsys, True, patience=-1.0)
    assert "Title" in streams.err
    assert "10/10" in streams.err
    assert streams.out == ""


def test_never_when_off(capsys):
    assert shown(capsys, False, patience=-1.0).err == ""
