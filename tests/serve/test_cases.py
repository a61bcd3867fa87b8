"""The table of cases that a server of the session protocol has to get right.

Each is a test over real sockets, read by the strict parser of `client.py`; the table
says which, and this test that they are there.
"""

from __future__ import annotations

import re
from pathlib import Path

CASES = {
    # The stream
    1: "stream.a_session_in_which_nothing_happened, "
    "server.a_session_that_nobody_knows_is_empty",
    2: "stream.what_is_no_session_id",
    3: "stream.a_cold_connection_during_a_turn",
    4: "stream.resuming_gives_what_was_missed_once",
    5: "stream.resuming_with_nothing_missed_gives_bytes_at_once",
    6: "stream.a_cursor_that_cannot_be_served_gets_a_snapshot, "
    "stream.a_cursor_below_the_log_gets_a_snapshot",
    7: "stream.a_cursor_that_cannot_be_served_gets_a_snapshot",
    8: "stream.after",
    9: "stream.resuming_gives_what_was_missed_once",  # every id here has hyphens
    10: "restart.a_client_resumes_across_a_restart",  # it resumes, without a gap
    11: "stream.one_reader_leaves_and_the_other_is_not_disturbed, "
    "stream.a_thousand_connections_leave_nothing",
    12: "stream.a_reader_that_sleeps_gets_everything, "
    "stream.a_reader_that_sleeps_too_long_gets_a_snapshot_and_no_gap",
    13: "stream.a_turn_is_in_one_place_whenever_a_client_comes",
    14: "stream.heartbeats_are_comments",
    15: "stream.texts_that_break_frames",
    16: "stream.fifty_readers_get_the_same_bytes",
    17: "mapping.every_recording_makes_whole_frames",  # and each frame of each test
    # Turns
    18: "server.a_turn, server.a_busy_session_is_locked",
    19: "server.bad_messages, server.a_turn",
    20: "server.a_busy_session_is_locked",
    21: "server.the_next_message_may_come_with_the_end",
    22: "server.a_busy_session_is_locked",
    23: "server.bad_ends_free_the_session, server.interrupting, "
    "serve_command.options_of_a_run_apply_to_each_turn",
    24: "server.bad_ends_free_the_session, run.bad_ends_are_told_as_they_are",
    25: "serve_command.options_of_a_run_apply_to_each_turn",
    26: "run.bad_ends_are_told_as_they_are, run.an_end_that_is_told_twice_is_one",
    27: "server.the_next_message_may_come_with_the_end, "
    "stream.the_turn_is_in_the_history_when_its_end_is_read",
    28: "mapping.an_error_on_the_way_is_no_failure",
    29: "mapping.what_comes_after_the_end",
    # What agents ask
    30: "answering.the_countdown_is_the_servers, "
    "stream.a_question_that_waits_is_shown_with_the_time_left",
    31: "answering.asked_on_one_client_and_approved_on_another, "
    "answering.what_is_refused",
    32: "answering.out_of_time",
    33: "answering_ends.a_turn_that_is_interrupted_meanwhile, "
    "answering_ends.a_run_that_is_stopped_meanwhile, "
    "answering_ends.the_agent_dies_meanwhile",
    34: "answering.two_clients_at_once",
    35: "answering.answers, answering.forms",
    36: "answering.the_countdown_is_the_servers",
    # From the agents' streams
    37: "mapping.each_text_once",
    38: "mapping.each_text_once",
    39: "mapping.a_failed_tool_is_an_error",
    40: "mapping.arguments_come_once_and_whole",
    41: "mapping.each_text_once",
    42: "mapping.an_error_on_the_way_is_no_failure",
    43: "mapping.an_error_that_is_told_twice_is_one",
    44: "mapping.a_stream_that_stops_did_not_complete",
    45: "mapping.an_unknown_type_stops_nothing",
    # The list
    46: "list.the_first_frame_says_that_it_is_connected, "
    "list.only_changes_of_the_lifecycle_are_told",
    47: "list.only_changes_of_the_lifecycle_are_told",  # by the shapes of the parser
    48: "list.a_reader_that_takes_nothing_is_sent_away",
    49: "stream.all_places_taken",
    50: "list.a_session_that_waits_is_told_at_once",
    51: "list.hosts_and_origins, server.others_may_not_post",
}


def test_each_case_has_its_tests() -> None:
    assert sorted(CASES) == list(range(1, 52))
    folder = Path(__file__).parent
    for number, names in CASES.items():
        for name in names.split(", "):
            module, _, test = name.partition(".")
            source = (folder / f"test_{module}.py").read_text()
            assert re.search(rf"^def test_{test}\(", source, re.M), f"{number}: {name}"
