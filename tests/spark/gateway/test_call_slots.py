"""The error of a call that finds no free slot names the callers that hold the slots."""

import asyncio

import pytest

from headgate.facts.ids import PrincipalId
from headgate.spark.gateway import call_slots
from headgate.spark.gateway.call_slots import Slots
from headgate.spark.gateway.errors import ExhaustedError

ANN, BOB = PrincipalId("ann"), PrincipalId("bob")


async def refusal_of(slots: Slots, principal: PrincipalId) -> str:
    """Return the message of a call that finds no free slot."""
    with pytest.raises(ExhaustedError) as refused:
        await slots.take(principal)
    return refused.value.message


class TestACallThatFindsNoRoom:
    def test_the_refusal_of_a_call_says_that_other_callers_hold_all_slots(self) -> None:
        async def attempt() -> str:
            slots = Slots("analyses", 2, 2, seconds=0.01)
            await slots.take(BOB)
            await slots.take(BOB)
            return await refusal_of(slots, ANN)

        refusal = asyncio.run(attempt())

        assert "all callers together have 2 running analyses" in refusal
        assert "your own calls need not end" in refusal

    def test_the_refusal_of_a_call_says_that_its_own_principal_holds_the_slots(self) -> None:
        async def attempt() -> str:
            slots = Slots("analyses", 1, 2, seconds=0.01)
            await slots.take(ANN)
            return await refusal_of(slots, ANN)

        assert (
            "you have 1 running analyses, as many as one principal may have; wait for one of them to end"
            in asyncio.run(attempt())
        )

    def test_the_refusal_of_a_call_says_that_too_many_calls_of_its_principal_wait(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(call_slots, "_WAITING", 1)

        async def attempt() -> str:
            slots = Slots("analyses", 1, 1)
            await slots.take(BOB)
            waiting = asyncio.create_task(slots.take(ANN))
            await asyncio.sleep(0)
            refusal = await refusal_of(slots, ANN)
            waiting.cancel()
            return refusal

        assert asyncio.run(attempt()) == "1 of your analyses are already waiting; wait for one of them to end"
