#!/usr/bin/env python3
"""openai_clients.py URL: drives a running server with the official openai package, as its users do."""
import asyncio
import sys

import openai

MESSAGES = [{"role": "system", "content": "x"}, {"role": "user", "content": "Say hi"}]  # few tokens: models may be slow
LIMIT = 5


def whole(client):
    answer = client.chat.completions.create(model="default", messages=MESSAGES, max_completion_tokens=LIMIT)
    choice = answer.choices[0]
    assert answer.object == "chat.completion" and answer.id.startswith("chatcmpl-"), answer
    assert choice.message.role == "assistant" and choice.message.content, answer
    assert choice.finish_reason in ("stop", "length"), answer
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens, answer
    assert answer.usage.completion_tokens <= LIMIT, answer
    return answer


def streamed(client, expected):
    chunks = list(
        client.chat.completions.create(
            model="default", messages=MESSAGES, max_completion_tokens=LIMIT, stream=True, stream_options={"include_usage": True}
        )
    )
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}, chunks
    for field in ("id", "created", "model"):
        assert len({getattr(chunk, field) for chunk in chunks}) == 1, (field, chunks)
    with_choice = [chunk.choices[0] for chunk in chunks if chunk.choices]
    assert with_choice[0].delta.role == "assistant", chunks
    assert "".join(choice.delta.content or "" for choice in with_choice) == expected.choices[0].message.content, chunks
    assert [c.finish_reason for c in with_choice if c.finish_reason] == [expected.choices[0].finish_reason], chunks
    assert [chunk.usage for chunk in chunks if chunk.usage] == [expected.usage], chunks
    assert not chunks[-1].choices and chunks[-1].usage, chunks[-1]


def accumulated(client, expected):
    """The client's own accumulator of streamed answers."""
    with client.chat.completions.stream(model="default", messages=MESSAGES, max_completion_tokens=LIMIT) as stream:
        for _ in stream:
            pass
        final = stream.current_completion_snapshot
    assert final.choices[0].message.content == expected.choices[0].message.content, final


def stopped(client, expected):
    stop = expected.choices[0].message.content[3:6]
    answer = client.chat.completions.create(model="default", messages=MESSAGES, max_completion_tokens=LIMIT, stop=[stop, ""])
    text = answer.choices[0].message.content
    assert text == expected.choices[0].message.content.split(stop)[0], (stop, answer)
    assert answer.choices[0].finish_reason == "stop", answer


def seeded(client):
    def text(seed):
        answer = client.chat.completions.create(
            model="default", messages=MESSAGES, max_completion_tokens=2, temperature=2, seed=seed
        )
        return answer.choices[0].message.content

    assert text(1) == text(1)
    assert len({text(seed) for seed in range(3)}) > 1


def models(client):
    (model,) = client.models.list().data
    assert client.models.retrieve(model.id) == model
    client.chat.completions.create(model=model.id, messages=MESSAGES, max_completion_tokens=1)


def expect(error, param, call):
    try:
        call()
    except error as failure:
        assert failure.body["param"] == param, failure.body
        assert failure.body["message"], failure.body
    else:
        raise AssertionError(f"expected {error.__name__} for {param}")


def errors(client):
    def create(**fields):
        return lambda: client.chat.completions.create(**{"model": "default", "messages": MESSAGES, **fields})

    expect(openai.NotFoundError, "model", create(model="no-such-model"))
    expect(openai.NotFoundError, "model", lambda: client.models.retrieve("no-such-model"))
    expect(openai.BadRequestError, "temperature", create(temperature=3))
    expect(openai.BadRequestError, "max_tokens", create(max_tokens=0))
    expect(openai.BadRequestError, "messages", create(messages=[]))
    expect(openai.BadRequestError, "n", create(n=2))
    expect(openai.BadRequestError, "response_format", create(response_format={"type": "json_object"}))
    expect(openai.BadRequestError, "messages", create(messages=[{"role": "user", "content": "word " * 200_000}]))
    expect(openai.BadRequestError, "temperature", create(temperature=3, stream=True))


async def concurrent(url, expected):
    async with openai.AsyncOpenAI(base_url=url + "/v1", api_key="none", max_retries=0) as client:
        answers = await asyncio.gather(
            *(client.chat.completions.create(model="default", messages=MESSAGES, max_completion_tokens=LIMIT) for _ in range(4))
        )
    assert {answer.choices[0].message.content for answer in answers} == {expected.choices[0].message.content}, answers


def abandoned(client):
    """A stream left in the middle; the next request is served."""
    stream = client.chat.completions.create(model="default", messages=MESSAGES, stream=True)
    next(iter(stream))
    stream.close()
    client.chat.completions.create(model="default", messages=MESSAGES, max_completion_tokens=1)


def main():
    url = sys.argv[1].rstrip("/")
    client = openai.OpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
    expected = whole(client)
    streamed(client, expected)
    accumulated(client, expected)
    stopped(client, expected)
    seeded(client)
    models(client)
    errors(client)
    asyncio.run(concurrent(url, expected))
    abandoned(client)
    print(f"openai {openai.__version__}: all well")


if __name__ == "__main__":
    main()
