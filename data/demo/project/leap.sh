# Prints "yes" when the year given has 366 days, else "no".
leap ()
{
  if [ $(($1 % 4)) -eq 0 ] && [ $(($1 % 100)) -ne 0 ]; then
    echo yes
  else
    echo no
  fi
}
