import * as z from "zod";

/** The id of a session, as a parameter or in a result. */
export const session_id = () =>
  z.string().regex(
    /^sess_[0-9A-Z]{26}$/,
    "must have the shape sess_<ULID>",
  );
