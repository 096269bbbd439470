"""Draws follow from the seed, and from nothing that happens elsewhere."""

from itertools import product

from lab.toxiproxy.draws import ConnectionDraws


def drawn(seed: int, proxy: str, connection: int, toxic: str) -> tuple[bool, ...]:
    draws = ConnectionDraws(seed, proxy, connection).of(toxic)
    return tuple(draws.acts(0.5) for _ in range(64))


def test_the_same_seed_gives_the_same_draws() -> None:
    assert drawn(7, "p", 1, "t") == drawn(7, "p", 1, "t")


def test_seed_proxy_connection_and_toxic_each_change_the_draws() -> None:
    streams = {drawn(*key) for key in product((7, 8), ("p", "q"), (1, 2), ("t", "u"))}
    assert len(streams) == 16


def test_other_toxics_and_the_effect_do_not_move_whether_a_toxic_acts() -> None:
    alone, among = ConnectionDraws(7, "p", 1), ConnectionDraws(7, "p", 1)
    for _ in range(8):
        among.of("other").acts(0.5)
        among.of("t").effect.random()
    assert [alone.of("t").acts(0.5) for _ in range(32)] == [among.of("t").acts(0.5) for _ in range(32)]


def test_a_toxicity_of_one_always_acts_and_of_zero_never() -> None:
    draws = ConnectionDraws(7, "p", 1).of("t")
    assert [draws.acts(1) for _ in range(100)] == [True] * 100
    assert [draws.acts(0) for _ in range(100)] == [False] * 100


def test_a_share_of_connections_is_hit() -> None:
    hit = sum(ConnectionDraws(7, "p", number).of("t").acts(0.3) for number in range(1, 2001))
    assert 500 < hit < 700
