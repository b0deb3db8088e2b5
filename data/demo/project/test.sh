# Tests of leap.sh. Takes a second, so that there is a "while it runs".
. ./leap.sh
failed=0

expect ()
{
  if [ "$(leap "$1")" = "$2" ]; then
    echo "ok - $1 is $2"
  else
    echo "not ok - $1 should be $2"
    failed=1
  fi
}

sleep 1
expect 2023 no
expect 2024 yes
expect 1900 no
expect 2000 yes
exit $failed
