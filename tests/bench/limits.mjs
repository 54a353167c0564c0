// The two limits that every contender enforces. `prefix`: of the keys of those that run bucket.lua.

export const LIMITS = {
  // Never used up, and so slow to fill that a bucket that expires when it is full does not expire meanwhile.
  admitted: { capacity: 2_000_000, rate: 1, interval: 150, prefix: 'rate_limit:' },
  // Used up by the first request.
  denied: { capacity: 1, rate: 1, interval: 86400, prefix: 'rate_limit:denied:' },
};

// Arguments of bucket.lua but for the time.
export const scriptArguments = ({ capacity, rate, interval }) => [capacity, rate, interval].map(String);
