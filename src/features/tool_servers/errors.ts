/** The server itself answered with an error: the call failed, the server is well. */
export class AnsweredError extends Error {
  override name = "AnsweredError";
}

/** The server does not know the session any more: it was started anew. The call was not made. */
export class ForgottenError extends Error {
  override name = "ForgottenError";
}
