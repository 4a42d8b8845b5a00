/**
 * Marks the processes of a run of the test command: a variable in their environment. Stopping the run
 * finds those by it that no longer have a parent, such as daemons.
 */
export const RUN_ENV = "SVC_TEST_RUN";
