/** The server answered with an error: the call failed, but the server is healthy. */
export class AnsweredError extends Error {
  override name = "AnsweredError";
}

/** The server has restarted and lost the session. The call was not made. */
export class ForgottenError extends Error {
  override name = "ForgottenError";
}
