import pytest


@pytest.fixture(autouse=True)
def no_window(monkeypatch):
    """Draw into memory and close everything; nothing may ask for a window."""
    import matplotlib.pyplot as plt

    backend = plt.get_backend()
    plt.switch_backend("agg")
    monkeypatch.setattr(plt, "show", lambda: pytest.fail("a picture was shown"))
    yield
    plt.close("all")
    plt.switch_backend(backend)
