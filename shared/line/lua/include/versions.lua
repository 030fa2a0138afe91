-- Returns the version of a change that is made at `us`, where `v` is the queue's last version.
local function next_version(us, v)
  return us > v and us or v + 1
end
