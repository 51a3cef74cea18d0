-- wrk with requests made beforehand: `{id}` in the path and the body stands for a random number up to the fourth argument; a
-- token and an Accept-Encoding follow, or nothing for each. A text of a body that is `{number}` is that number itself.
-- The outcome is one line of JSON.

local requests = {}
local at = 0

function init(args)
  local method, path, body, most = args[1], args[2], args[3], tonumber(args[4])
  local token, encoding = args[5], args[6]
  math.randomseed(most)
  for i = 1, 5000 do
    local id = tostring(math.random(most))
    local headers = { ["Content-Type"] = body ~= "" and "application/json" or nil }
    if token ~= "" then headers["Authorization"] = "Bearer " .. token end
    if encoding ~= "" then headers["Accept-Encoding"] = encoding end
    requests[i] = wrk.format(method, (path:gsub("{id}", id)), headers, body ~= "" and (body:gsub('"{number}"', id):gsub("{id}", id)) or nil)
  end
end

function request()
  at = at % #requests + 1
  return requests[at]
end

function done(summary, latency, _)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"perSecond":%.1f,"p50":%.3f,"p99":%.3f,"refused":%d,"broken":%d}\n',
    summary.requests,
    summary.requests / summary.duration * 1e6,
    latency:percentile(50) / 1000,
    latency:percentile(99) / 1000,
    errors.status,
    errors.connect + errors.read + errors.write + errors.timeout
  ))
end
