"""The country of a world: towns apart from each other, unique codes, and landmarks near their towns."""

from collections import Counter

import pytest

from webarena_gym.sites.country.geography import EAST, KINDS, NORTH, SIZES, SOUTH, WEST, country, distance_km


@pytest.fixture(params=[(1, "standard"), (1000, "standard"), (7, "large")])
def made(request):
    return country(*request.param), SIZES[request.param[1]]


def test_towns_have_distances_populations_and_codes_of_their_own(made):
    land, sizes = made
    towns = land.towns
    assert len(towns) == sum(sizes.towns)
    for index, town in enumerate(towns):
        assert SOUTH <= town.latitude <= NORTH
        assert WEST <= town.longitude <= EAST
        for other in towns[:index]:
            assert distance_km(town.latitude, town.longitude, other.latitude, other.longitude) > sizes.apart_km
    for name in ("name", "postcode", "area_code"):
        assert len({getattr(town, name) for town in towns}) == len(towns), name
    assert max(towns, key=lambda town: town.population) is towns[0]
    assert all(len({*town.streets}) == len(town.streets) for town in towns)


def test_states_have_different_abbreviations_and_their_largest_town_as_capital(made):
    land, _ = made
    assert len({state.abbreviation for state in land.states}) == len(land.states) == 4
    for state in land.states:
        assert state.abbreviation[0] == state.name[0]
        own = [town for town in land.towns if town.state == state.name]
        assert land.town(state.capital) is max(own, key=lambda town: town.population)


def test_landmarks_are_near_their_towns(made):
    land, sizes = made
    assert Counter(landmark.kind for landmark in land.landmarks) == sizes.landmarks
    for landmark in land.landmarks:
        town = land.town(landmark.town)
        assert landmark.state == town.state
        away = distance_km(landmark.latitude, landmark.longitude, town.latitude, town.longitude)
        low, high = {"airport": (5, 8), "national park": (8, 10)}.get(landmark.kind, (0.15, 1.6))
        assert low - 0.02 <= away <= high + 0.02, landmark
    assert KINDS.keys() == sizes.landmarks.keys()


def test_each_stadium_has_a_team(made):
    land, _ = made
    stadiums = [landmark for landmark in land.landmarks if landmark.kind == "stadium"]
    assert [(team.stadium, team.town) for team in land.teams] == [(stadium.name, stadium.town) for stadium in stadiums]
    assert len({stadium.town for stadium in stadiums}) == len(stadiums)
    assert all(team.name.startswith(f"{team.town} ") for team in land.teams)


def test_weights_follow_the_sizes_of_towns(made):
    land, _ = made
    weights = land.weights(9, 3, 1)
    assert len(weights) == len(land.towns)
    assert Counter(weights) == dict(zip((9, 3, 1), land.counts, strict=True))
    assert weights == sorted(weights, reverse=True)


def test_worlds_have_other_towns_and_equal_seeds_the_same():
    assert not {town.name for town in country(1).towns} & {town.name for town in country(2).towns}
    first = country(1)
    country.cache_clear()
    assert country(1) == first
    with pytest.raises(StopIteration):
        first.town("nowhere")
