/* SPDX-License-Identifier: Apache-2.0
 * SPDX-FileCopyrightText: The OpenWorker authors */

#include "ow-wrap-layout-private.h"

#define SPACING 8

struct _OwWrapLayout
{
  GtkLayoutManager parent_instance;
};

G_DEFINE_FINAL_TYPE (OwWrapLayout, ow_wrap_layout, GTK_TYPE_LAYOUT_MANAGER)

static GtkSizeRequestMode
ow_wrap_layout_get_request_mode (GtkLayoutManager *manager,
                                 GtkWidget        *widget)
{
  return GTK_SIZE_REQUEST_HEIGHT_FOR_WIDTH;
}

static void
measure_width (GtkWidget *widget,
               int       *minimum,
               int       *natural)
{
  *minimum = 0;
  *natural = 0;
  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    {
      int min;
      int nat;

      if (!gtk_widget_should_layout (child))
        continue;
      gtk_widget_measure (child, GTK_ORIENTATION_HORIZONTAL, -1, &min, &nat, NULL, NULL);
      *minimum = MAX (*minimum, min);
      *natural += nat + (*natural > 0 ? SPACING : 0);
    }
}

/* The height of all rows in @width; with @place the children get their places. */
static int
lay_out (GtkWidget *widget,
         int        width,
         gboolean   place)
{
  gboolean mirrored = gtk_widget_get_direction (widget) == GTK_TEXT_DIR_RTL;
  int x = 0;
  int y = 0;
  int row = 0;

  for (GtkWidget *child = gtk_widget_get_first_child (widget); child != NULL;
       child = gtk_widget_get_next_sibling (child))
    {
      int nat;
      int height;

      if (!gtk_widget_should_layout (child))
        continue;
      gtk_widget_measure (child, GTK_ORIENTATION_HORIZONTAL, -1, NULL, &nat, NULL, NULL);
      nat = MIN (nat, width);
      gtk_widget_measure (child, GTK_ORIENTATION_VERTICAL, nat, NULL, &height, NULL, NULL);
      if (x > 0 && x + nat > width)
        {
          x = 0;
          y += row + SPACING;
          row = 0;
        }
      if (place)
        gtk_widget_size_allocate (child, &(GtkAllocation){ mirrored ? width - x - nat : x, y,
                                                           nat, height }, -1);
      x += nat + SPACING;
      row = MAX (row, height);
    }
  return y + row;
}

static void
ow_wrap_layout_measure (GtkLayoutManager *manager,
                        GtkWidget        *widget,
                        GtkOrientation    orientation,
                        int               for_size,
                        int              *minimum,
                        int              *natural,
                        int              *minimum_baseline,
                        int              *natural_baseline)
{
  int min;
  int nat;

  measure_width (widget, &min, &nat);
  if (orientation == GTK_ORIENTATION_HORIZONTAL)
    {
      *minimum = min;
      *natural = nat;
      return;
    }
  *minimum = lay_out (widget, for_size < 0 ? nat : MAX (for_size, min), FALSE);
  *natural = *minimum;
}

static void
ow_wrap_layout_allocate (GtkLayoutManager *manager,
                         GtkWidget        *widget,
                         int               width,
                         int               height,
                         int               baseline)
{
  lay_out (widget, width, TRUE);
}

static void
ow_wrap_layout_class_init (OwWrapLayoutClass *klass)
{
  GtkLayoutManagerClass *layout_class = GTK_LAYOUT_MANAGER_CLASS (klass);

  layout_class->get_request_mode = ow_wrap_layout_get_request_mode;
  layout_class->measure = ow_wrap_layout_measure;
  layout_class->allocate = ow_wrap_layout_allocate;
}

static void
ow_wrap_layout_init (OwWrapLayout *self)
{
}
