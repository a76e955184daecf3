# Which builds run a test. scripts/test.sh and ctest run all that a build can run; .ci/run has three
# builds, which share the tests so that equal work is done once:
#
#   address,undefined   every test, except those that this sanitizer cannot run or makes too slow
#   thread              tests in whose processes threads meet, with the fewest sizes that still start
#                       every kind of thread (KC_TEST_SMALL, tests/sampling.h)
#   the last one, with KCOUNT_RUN_SANITIZED=OFF
#                       what the first build does not run whole; what its compiler, libraries or
#                       options change; and a short set that runs every command as users build it
#
# So each test runs whole in at least one of them, and each sanitizer sees the code that it can judge.
# A test that none of these lists names runs in all three; a unit test, in the first two.

# One thread, or only the threads of store_check and store_set, which other tests start too.
set(one_thread test_app_advice test_app_bridge test_app_contigs test_app_device_total test_app_early
  test_app_filter test_app_memory test_app_model test_app_order test_app_page test_app_pictures
  test_app_plot test_app_progress test_app_report test_app_tally test_app_text
  test_archs test_arena test_bgzf_blocks test_block_codec test_cpu_disk test_cut test_deflate
  test_gunzip test_import_damage test_leaders test_library_cpp test_new_file test_pack test_pieces test_run test_store_damage
  test_store_misplaced test_store_rescue test_temp_file)
# Each thread of their processes is also started, at the same place and beside the same threads, in a
# process of the tests that remain.
set(same_threads cli_app_advice cli_app_compare cli_app_completion cli_app_foreign cli_app_help
  cli_app_hist cli_app_hpc cli_app_inputs cli_app_locks cli_app_manual cli_app_many cli_app_only
  cli_app_output cli_app_report cli_app_report_reads cli_app_selection cli_app_usage cli_cookbook
  cli_damage cli_doc_links cli_errors_page cli_export_arrow cli_export_fastk cli_export_jellyfish
  cli_export_kff cli_export_kmc cli_export_tsv cli_format cli_golden cli_gunzip cli_import
  cli_json_page cli_kmc_door cli_library_count cli_model cli_pasted cli_report_page cli_report_pictures
  cli_simulate test_reader_bam_damage
  test_reader_foreign)

# Of the unit tests, those that are not the same with the address sanitizer: that build runs only a
# sample of their cases, or lacks the code that chooses among instruction sets (base/simd.h).
set(sampled test_cpu_ask test_deflate test_gunzip test_library_joint test_library_sets
  test_reader_bam_damage test_source_gunzip test_store_set)
set(with_simd test_block_codec test_cpu_engine test_cpu_order test_joint test_kmer test_library_reading test_run
  test_store)
# Command-line tests of code that the build does not change.
set(same_whole cli_app_advice cli_app_compare cli_app_completion cli_app_foreign cli_app_growing
  cli_app_hist
  cli_app_hpc cli_app_inputs cli_app_locks cli_app_many cli_app_only cli_app_output cli_app_profile
  cli_app_progress cli_app_query cli_app_report cli_app_report_reads cli_app_selection cli_app_signals cli_app_usage cli_damage cli_doc_links
  cli_errors_page cli_export_arrow cli_export_fastk cli_export_jellyfish cli_export_kff
  cli_export_kmc cli_export_tsv cli_filter cli_filter_bam cli_filter_bam_samtools cli_format
  cli_gunzip cli_import cli_json_page cli_kmc_door cli_library_count cli_lsm cli_matrix_inputs cli_matrix_quality cli_matrix_skew
  cli_matrix_spill cli_report_page cli_report_pictures cli_simulate)

# kcount_runs_here(RESULT NAME): whether this build runs the test.
function(kcount_runs_here result name)
  set(runs ON)
  if(KCOUNT_SANITIZE MATCHES thread)
    if(name IN_LIST one_thread OR name IN_LIST same_threads OR name MATCHES "^fuzz_")
      set(runs OFF)
    endif()
  elseif(NOT KCOUNT_SANITIZE AND NOT KCOUNT_RUN_SANITIZED)
    if(name IN_LIST same_whole OR name MATCHES "^(fuzz|test_gpu_host)_")
      set(runs OFF)
    elseif(name MATCHES "^test_" AND NOT name MATCHES "^test_(gpu|archs)" AND
        NOT name IN_LIST sampled AND NOT name IN_LIST with_simd)
      set(runs OFF)
    endif()
  endif()
  set(${result} ${runs} PARENT_SCOPE)
endfunction()

# kcount_unit_test(NAME PROGRAM [ARGUMENT]...): add the test; if this build does not run it, leave
# PROGRAM out of what is built by default.
function(kcount_unit_test name program)
  kcount_runs_here(runs ${name})
  if(runs)
    add_test(NAME ${name} COMMAND ${program} ${ARGN})
  else()
    set_target_properties(${program} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()

# Tests that take long in at least one build. They start first, in this order, so that no core waits
# for them at the end.
set(slow emulated_cli_ranks emulated_scarcity test_app_asking cli_memory cli_matrix_chunks cli_lsm
  test_library_reading emulated_app_devices cli_model emulated_app_several cli_app_several cli_ranks
  test_store_set emulated_ask_streams emulated_ask cli_filter cli_filter_bam cli_app_profile
  cli_app_failures cli_peer_kmc emulated_engine_strangers emulated_sets emulated_device_order
  cli_io_errors cli_peer_jellyfish test_reader_formats cli_matrix_skew emulated_cli_lsm
  emulated_engine_devices cli_app_signals test_cpu_engine)

# Call at the end of the CMakeLists.txt of a folder with tests.
function(kcount_start_slow_first)
  get_property(tests DIRECTORY PROPERTY TESTS)
  set(cost 100)
  foreach(name ${slow})
    if(name IN_LIST tests)
      set_tests_properties(${name} PROPERTIES COST ${cost})
    endif()
    math(EXPR cost "${cost} - 1")
  endforeach()
endfunction()
