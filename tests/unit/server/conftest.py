"""The door over a scripted core, asked through ASGI."""

# Loaded lazily by the first use of a thread, through Qt's import hook, which looks at files: that
# would count as blocking the loop.
from concurrent.futures import ThreadPoolExecutor  # noqa: F401

import httpx
import pytest

from tests.fakes.scripted_core import ScriptedCore, door


@pytest.fixture
async def core():
    return ScriptedCore()


@pytest.fixture
async def client(core):
    transport = httpx.ASGITransport(door(core))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


@pytest.fixture
def chat():
    """A chat body with some fields set."""

    def body(**fields):
        return {"messages": [{"role": "user", "content": "Hi"}], **fields}

    return body
